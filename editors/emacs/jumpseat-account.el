;;; jumpseat-account.el --- Sign-in, quotas and status  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Sign-in with a code on a page, sign-out, the state of accounts, the logs, and
;; the checks of `jumpseat-doctor'.

;;; Code:

(require 'jumpseat-send)

(defvar jumpseat-account--sign-in nil
  "The running sign-in, a property list.
:token identifies it, :buffer shows the code, and :request is the id of the
daemon's request.  :cancelled is set if the user cancelled before :request was
known.")
(defvar jumpseat-account--count 0 "The number of sign-ins so far.")
(defvar jumpseat-account--states nil "An alist from the id of a provider to its account's state.")
(defvar jumpseat-account--signing-out nil "Whether this Emacs is signing out.")

;;; Sign-in

(defun jumpseat-account--finish-sign-in ()
  "End the running sign-in, and close its window."
  (let ((buffer (plist-get jumpseat-account--sign-in :buffer)))
    (setq jumpseat-account--sign-in nil)
    (when (buffer-live-p buffer)
      (with-current-buffer buffer (remove-hook 'kill-buffer-hook #'jumpseat-account-cancel t))
      (if-let ((window (get-buffer-window buffer t)))
          (quit-window t window)
        (kill-buffer buffer)))))

(defun jumpseat-account-cancel ()
  "Cancel the pending sign-in."
  (interactive)
  (when jumpseat-account--sign-in
    (let ((request (plist-get jumpseat-account--sign-in :request)))
      ;; jsonrpc.el hides the ids of requests.  The id of this request is unknown
      ;; until the daemon sends it with the code.
      (if (null request)
          (plist-put jumpseat-account--sign-in :cancelled t)
        (jumpseat--rpc-notify "$/cancelRequest" (list :id request))
        (jumpseat-account--finish-sign-in)
        (jumpseat--say "The sign-in was cancelled.")))))

(defun jumpseat-account--open-browser-p ()
  "Whether a browser may be opened."
  (if (eq jumpseat-open-browser 'local)
      (not (or (getenv "SSH_CLIENT") (getenv "SSH_CONNECTION") (getenv "SSH_TTY")))
    jumpseat-open-browser))

(defvar jumpseat-account-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "q" #'jumpseat-account-cancel)
    (define-key map (kbd "C-c C-k") #'jumpseat-account-cancel)
    map)
  "Keymap for the window of a sign-in.")

(define-derived-mode jumpseat-account-mode jumpseat-ui-mode "Sign-in"
  "The mode of the window of a sign-in."
  :interactive nil
  (add-hook 'kill-buffer-hook #'jumpseat-account-cancel nil t))

(defun jumpseat-account--describe-prompt (prompt)
  "Return the lines of the window for PROMPT, and copy its code.
A sign-in to a tool server has no code."
  (let ((page (plist-get prompt :verificationUri))
        (code (plist-get prompt :userCode)))
    (when code (kill-new code))
    (append (list (format "Sign in to %s" (string-remove-prefix "mcp:" (plist-get prompt :provider)))
                  "" (concat "Page:  " page))
            (if code (list (concat "Code:  " code) ""
                           "The code was copied. Waiting for you to enter it on the page …")
              (list (concat "Host:  " (plist-get prompt :host)) ""
                    "Waiting for you to sign in there …"))
            (list "q closes this window and cancels."))))

(defun jumpseat-account--show-prompt (prompt)
  "Show the page and the code in PROMPT."
  (when (and jumpseat-account--sign-in
             (equal (plist-get prompt :token) (plist-get jumpseat-account--sign-in :token)))
    (plist-put jumpseat-account--sign-in :request (plist-get prompt :requestId))
    (if (plist-get jumpseat-account--sign-in :cancelled)
        (jumpseat-account-cancel)
      (let ((buffer (get-buffer-create "*jumpseat sign-in*")))
        (with-current-buffer buffer (jumpseat-account-mode))
        (jumpseat--ui-show (buffer-name buffer) (jumpseat-account--describe-prompt prompt))
        (with-current-buffer buffer (goto-address-mode))
        (plist-put jumpseat-account--sign-in :buffer buffer)
        (when (jumpseat-account--open-browser-p)
          (condition-case failure
              (browse-url (plist-get prompt :verificationUri))
            (error (jumpseat--log-write "%s" (error-message-string failure)))))))))

(defun jumpseat-account--sign-in-p (provider)
  "Whether users sign in to PROVIDER; other providers need an API key or nothing."
  (equal "device_code" (plist-get provider :authMethod)))

(defun jumpseat--account-read-provider (prompt &optional predicate required)
  "Prompt with PROMPT for a provider, and return its id.
If the answer is empty, return nil: the daemon then chooses a provider.  If
REQUIRED, signal a `user-error' instead.  If PREDICATE is given, offer only the
providers for which it returns non-nil."
  ;; The providers may be unknown at first.  They arrive while the user reads
  ;; the prompt.
  (let* ((ids (lambda (&rest _)
                (mapcar (lambda (each) (plist-get each :id))
                        (seq-filter (or predicate #'identity) (jumpseat--models-known-providers)))))
         (id (progn
               (funcall ids)
               (completing-read (concat prompt (if required ": " " (empty: the default one): "))
                                (completion-table-dynamic ids)))))
    (if (string-empty-p id) (when required (user-error "No provider was entered"))
      id)))

(defun jumpseat-login (&optional provider)
  "Sign in to PROVIDER; the daemon chooses one if none is named.
With a prefix argument, read the name of PROVIDER."
  (interactive (list (when current-prefix-arg
                       (jumpseat--account-read-provider "Sign in to"
                                                        #'jumpseat-account--sign-in-p))))
  (jumpseat-account-cancel)
  (let ((token (format "emacs-sign-in-%d" (setq jumpseat-account--count
                                                (1+ jumpseat-account--count)))))
    (setq jumpseat-account--sign-in (list :token token :request nil :buffer nil :cancelled nil))
    (jumpseat--rpc-request
     "auth/signIn" (list :provider provider :token token)
     (lambda (err account)
       (when (equal token (plist-get jumpseat-account--sign-in :token))
         (jumpseat-account--finish-sign-in))
       (cond ((eql (plist-get err :code) -32800))
             (err (jumpseat--say-error err))
             ((not (equal "signed_in" (plist-get account :state)))
              (jumpseat--say "%s %s" (jumpseat-account--describe account)
                             (or (plist-get account :message) "")))
             (t (jumpseat--say "Signed in to %s%s." (plist-get account :provider)
                               (if-let ((login (plist-get account :login)))
                                   (concat " as " login)
                                 ""))))))))

(defun jumpseat-account--describe-state (state)
  "Describe the STATE of an account in words."
  (if (equal "not_required" state) "no sign-in needed" (string-replace "_" " " state)))

(defun jumpseat-account--describe (account)
  "Describe the state of ACCOUNT in one line."
  (format "%s: %s." (plist-get account :provider)
          (jumpseat-account--describe-state (plist-get account :state))))

(defun jumpseat-logout (&optional provider)
  "Sign out of PROVIDER; the daemon chooses one if none is named.
With a prefix argument, read the name of PROVIDER."
  (interactive (list (when current-prefix-arg
                       (jumpseat--account-read-provider "Sign out of"
                                                        #'jumpseat-account--sign-in-p))))
  (setq jumpseat-account--signing-out t)
  (jumpseat--rpc-request
   "auth/signOut" (list :provider provider)
   (lambda (err account)
     (setq jumpseat-account--signing-out nil)
     (if err (jumpseat--say-error err)
       (jumpseat--say "%s" (jumpseat-account--describe account))))))

(defun jumpseat-tools-sign-in ()
  "Sign in to the tool server at point."
  (interactive)
  (jumpseat-login (concat "mcp:" (jumpseat--tools-server-at-point))))

;;; Quotas and accounts

(defun jumpseat-account--describe-quota (account)
  "Describe the quota of ACCOUNT with the smallest percentage left.
Return nil if no quota has a limit."
  (let ((least (car (sort (seq-filter
                           (lambda (each) (and (not (jumpseat--true-p (plist-get each :unlimited)))
                                               (plist-get each :percentRemaining)))
                           (plist-get account :quotas))
                          (lambda (a b) (< (plist-get a :percentRemaining)
                                           (plist-get b :percentRemaining)))))))
    (when least
      (format "%s: %d %% left" (jumpseat-account--describe-state (plist-get least :name))
              (floor (plist-get least :percentRemaining))))))

(defun jumpseat-account--show-quota (err _reason)
  "Update this chat's quota after a turn, unless the turn ended with ERR."
  (when-let ((model (and (not err) (jumpseat--view-get :model)))
             (buffer (current-buffer)))
    (jumpseat--rpc-request
     "auth/status" (list :provider (car (split-string model ":")))
     (lambda (failure account)
       (when (and (not failure) (buffer-live-p buffer))
         (with-current-buffer buffer
           (jumpseat--view-update :quota (jumpseat-account--describe-quota account))))))))

(add-hook 'jumpseat--turn-ended-functions #'jumpseat-account--show-quota)

(defun jumpseat-account--handle-change (account)
  "Report a lost sign-in of ACCOUNT, and show its quota in chats that use it."
  (let* ((provider (plist-get account :provider))
         (state (plist-get account :state))
         (before (alist-get provider jumpseat-account--states nil nil #'equal)))
    (setf (alist-get provider jumpseat-account--states nil nil #'equal) state)
    (when (and (member state '("signed_out" "expired")) (not (equal before state))
               (not jumpseat-account--signing-out))
      (jumpseat--say "You are signed out of %s. %s" provider (or (plist-get account :message) "")))
    (dolist (buffer (jumpseat--chat-list))
      (with-current-buffer buffer
        (when (string-prefix-p (concat provider ":") (or (jumpseat--view-get :model) ""))
          (jumpseat--view-update :quota (jumpseat-account--describe-quota account)))))))

(jumpseat--inbox-on 'auth/prompt #'jumpseat-account--show-prompt)
(jumpseat--inbox-on 'auth/didChange #'jumpseat-account--handle-change)
(jumpseat--inbox-on 'window/showMessage
                  (lambda (params) (jumpseat--say "%s" (plist-get params :message))))

;;; Status

(defun jumpseat-account--format-quota (quota)
  "Describe QUOTA in one line."
  (if (jumpseat--true-p (plist-get quota :unlimited))
      (format "    %s: unlimited" (plist-get quota :name))
    (format "    %s: %d %% left%s" (plist-get quota :name)
            (floor (or (plist-get quota :percentRemaining) 0))
            (if (and (plist-get quota :remaining) (plist-get quota :entitlement))
                (format " (%d of %d)" (plist-get quota :remaining) (plist-get quota :entitlement))
              ""))))

(defun jumpseat-account--format-provider (provider)
  "Return the lines of the status window for PROVIDER."
  (let* ((auth (plist-get provider :auth))
         (login (plist-get auth :login))
         (plan (plist-get auth :plan)))
    (append
     (list (concat "  " (plist-get provider :id) ": "
                   (jumpseat-account--describe-state (plist-get auth :state))
                   (and login (concat " as " login)) (and plan (concat ", " plan))
                   (and (jumpseat--true-p (plist-get provider :isDefault)) "  (default)")))
     (when (plist-get auth :message) (list (concat "    " (plist-get auth :message))))
     (mapcar #'jumpseat-account--format-quota (plist-get auth :quotas)))))

(defun jumpseat-status ()
  "Show providers, accounts, quotas and the daemon."
  (interactive)
  (jumpseat--models-providers
   (jumpseat--make-callback
    (lambda (providers)
      (jumpseat--ui-show
       "*jumpseat status*"
       (append (list (format "jumpseat %s  %s"
                             (or (jumpseat--get (jumpseat--rpc-info) :serverInfo :version) "?")
                             (string-join (jumpseat--program) " "))
                     "" "Providers")
               (seq-mapcat #'jumpseat-account--format-provider providers))
       #'jumpseat-status)))))

(defun jumpseat-log ()
  "Show the logs of this package and of the daemon."
  (interactive)
  (jumpseat--log-write "the log was opened")
  (pop-to-buffer jumpseat--log-buffer)
  (goto-char (point-max))
  (when (file-exists-p (jumpseat--log-file))
    (with-current-buffer (find-file-other-window (jumpseat--log-file))
      (auto-revert-tail-mode)
      (view-mode)
      (goto-char (point-max)))))

(defun jumpseat-account--choose-mark (ok)
  "Return the mark for OK, the result of a check.
OK is nil if the check could not verify anything."
  (cond ((jumpseat--true-p ok) "✓") ((eq ok :json-false) "✗") (t "–")))

(defun jumpseat-account--format-check (check)
  "Return the lines of the doctor's report for CHECK."
  (cons (format "  %s %s: %s" (jumpseat-account--choose-mark (plist-get check :ok))
                (plist-get check :name) (plist-get check :message))
        (when (plist-get check :hint) (list (concat "      " (plist-get check :hint))))))

(defun jumpseat-doctor (provider)
  "Have the daemon check everything that PROVIDER needs, and show the results."
  (interactive (list (jumpseat--account-read-provider "Check the provider")))
  (jumpseat--models-providers
   (jumpseat--make-callback
    (lambda (providers)
      (let ((id (or provider (plist-get (jumpseat--models-provider nil providers) :id))))
        (if (null id) (jumpseat--say "There is no default provider: name one.")
          (jumpseat--say "Checking %s …" id)
          (jumpseat--rpc-request
           "providers/diagnose" (list :provider id)
           (jumpseat--make-callback
            (lambda (result)
              (jumpseat--ui-show
               "*jumpseat doctor*"
               (append (list (concat "Checks of " id) "")
                       (seq-mapcat #'jumpseat-account--format-check (plist-get result :checks)))
               (lambda () (jumpseat-doctor id))))))))))))

(provide 'jumpseat-account)
;;; jumpseat-account.el ends here
