;;; jumpseat-calls.el --- Show and approve tool calls  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Folds tool calls, results, images and long context in a chat, shows the
;; status of calls, and asks the user about calls that need approval.  An
;; approval request is shown below its call, and answered with keys or buttons.

;;; Code:

(require 'map)
(require 'jumpseat-format)
(require 'jumpseat-hunks)
(require 'jumpseat-region)
(require 'jumpseat-turn)
(require 'jumpseat-ui)

(defface jumpseat-call '((t :inherit font-lock-function-name-face))
  "The names of tool calls."
  :group 'jumpseat)

(defface jumpseat-result '((t :inherit shadow))
  "The results of tool calls, and the titles of their folds."
  :group 'jumpseat)

;;; Folds

(defconst jumpseat-calls--short-lines 8
  "The maximum number of lines of a context block that stays unfolded.")

(defun jumpseat-calls--read-pair (pairs key)
  "Return the value of KEY in PAIRS, or nil.
PAIRS is the text after the type in the first line of a block."
  (when (string-match (format (jumpseat--format-pair (jumpseat--format-here)) key) pairs)
    (let ((value (match-string 1 pairs)))
      (if (string-prefix-p "\"" value) (json-parse-string value) value))))

(defun jumpseat-calls--shorten (text)
  "Return TEXT as one line of at most 60 characters."
  (truncate-string-to-width (replace-regexp-in-string "[ \t\n]+" " " text) 60 nil nil "…"))

(defun jumpseat-calls--summarize (arguments)
  "Return the most informative value in ARGUMENTS, a JSON text, as one line."
  (let ((values (ignore-errors (json-parse-string arguments :object-type 'plist))))
    (jumpseat-calls--shorten
     (or (seq-some (lambda (key)
                     (let ((value (plist-get values key))) (and (stringp value) value)))
                   '(:path :pattern :query :url :command :name))
         (seq-find #'stringp values)
         ""))))

(defun jumpseat-calls--describe (overlay)
  "Return the title of the fold OVERLAY of a call."
  (let ((status (overlay-get overlay 'jumpseat-call-status)))
    (string-join
     (delq nil
           (list (propertize (overlay-get overlay 'jumpseat-name) 'face 'jumpseat-call)
                 (and status
                      (concat "· " (if (string-match-p "\\`\\(?:failed\\|denied\\)" status)
                                       (propertize status 'face 'jumpseat-error)
                                     status)))))
     " ")))

(defun jumpseat-calls--set-status (overlay status)
  "Show STATUS at the call of OVERLAY."
  (overlay-put overlay 'jumpseat-call-status status)
  (jumpseat--view-name-fold overlay (jumpseat-calls--describe overlay)))

(defun jumpseat--calls-fold (beg end)
  "Fold each complete call, result, image and long context between BEG and END.
Return the end of the last complete block, or BEG if there is none."
  (save-excursion
    (goto-char beg)
    (while (re-search-forward (jumpseat--format-block (jumpseat--format-here)) end t)
      (let ((start (match-beginning 0)) (body (point)) (key (match-string 1))
            (type (downcase (match-string 2))) (pairs (or (match-string-no-properties 3) "")))
        (when (re-search-forward (format (jumpseat--format-block-end (jumpseat--format-here)) key)
                                 end 'move)
          (setq beg (point))
          (pcase type
            ("tool_use"
             (jumpseat-calls--fold-call
              start beg pairs (buffer-substring-no-properties body (line-beginning-position))))
            ("tool_result" (jumpseat-calls--fold-result start beg pairs))
            (_ (jumpseat-calls--fold-context start beg type pairs))))))
    beg))

(defun jumpseat-calls--count-lines (beg end)
  "Describe the number of lines of text in the block from BEG to END."
  ;; If the original text ended in a newline, the block has an empty line before
  ;; its last line.  Do not count this line.
  (let ((blank (save-excursion (goto-char end) (forward-line -1) (looking-at-p "\n"))))
    (jumpseat--view-count-lines beg end (if blank 3 2))))

(defun jumpseat-calls--fold-context (beg end type pairs)
  "Fold the block of TYPE with PAIRS, from BEG to END.
A context block that is short stays unfolded."
  (let ((name (or (jumpseat-calls--read-pair pairs "label") (jumpseat-calls--read-pair pairs "name")
                  (jumpseat-calls--read-pair pairs "uri"))))
    (when (or (not (equal type "context"))
              (> (- (count-lines beg end) 2) jumpseat-calls--short-lines))
      (jumpseat--view-fold
       beg end
       (concat (if (and name (equal type "context")) (url-unhex-string (file-name-nondirectory name))
                 (capitalize type))
               (if (equal type "context")
                   (format " (%s)" (jumpseat-calls--count-lines beg end))
                 ;; A kilobyte has 1365 characters in Base64.
                 (format " (%d kB)" (/ (- end beg) 1365))))))))

(defun jumpseat-calls--fold-call (beg end pairs arguments)
  "Fold the call with PAIRS and ARGUMENTS, from BEG to END."
  (let ((overlay (jumpseat--view-fold beg end ""))
        (name (or (jumpseat-calls--read-pair pairs "name") "")))
    (overlay-put overlay 'jumpseat-call (jumpseat-calls--read-pair pairs "id"))
    (overlay-put overlay 'jumpseat-name
                 (string-trim (concat (string-replace "__" "/" name) " "
                                      (jumpseat-calls--summarize arguments))))
    (jumpseat-calls--set-status overlay nil)))

(defun jumpseat-calls--fold-result (beg end pairs)
  "Fold the result with PAIRS, from BEG to END, and show its status at its call."
  (let ((failed (jumpseat-calls--read-pair pairs "is_error"))
        (call (jumpseat-calls--find (jumpseat-calls--read-pair pairs "id"))))
    (jumpseat--view-fold beg end (format "%s (%s)" (if failed "Error" "Result")
                                         (jumpseat-calls--count-lines beg end))
                         'jumpseat-result)
    (when (and call (null (overlay-get call 'jumpseat-call-status)))
      (jumpseat-calls--set-status call (if failed "failed" "completed")))))

(defun jumpseat-calls--list (property)
  "Return the overlays of this buffer with PROPERTY, in buffer order."
  (save-restriction
    (widen)
    (sort (seq-filter (lambda (each) (overlay-get each property))
                      (overlays-in (point-min) (point-max)))
          (lambda (a b) (< (overlay-start a) (overlay-start b))))))

(defun jumpseat-calls--find (id)
  "Return the overlay of the call ID, or nil.
If several answers have a call with this id, return the last one."
  (seq-find (lambda (each) (equal id (overlay-get each 'jumpseat-call)))
            (nreverse (jumpseat-calls--list 'jumpseat-call))))

;;; Approval requests

(defvar jumpseat-approval-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-y") #'jumpseat-allow)
    (define-key map (kbd "C-c C-x") #'jumpseat-deny)
    (define-key map (kbd "C-c C-r") #'jumpseat-allow-and-remember)
    (define-key map (kbd "C-c C-d") #'jumpseat-show-diff)
    map)
  "Keymap for chats with a call that needs approval.")

(define-minor-mode jumpseat-approval-mode
  "The mode of a chat while a call needs approval.
It is turned on and off with the approval requests."
  :interactive nil)

(defconst jumpseat-calls--reasons
  '(("rule" . "A rule in the configuration requires approval for every call.")
    ("changed" . "The tool has changed since you allowed it.")
    ("outside" . "The path is outside of the workspace."))
  "Explanations of why a call needs approval, if that is not obvious.")

(defconst jumpseat-calls--approval-lines 16
  "The maximum number of lines of the diff or arguments in an approval request.")

(defun jumpseat-calls--format-diff (request)
  "Return the unified diff of what the call in REQUEST would change."
  (mapconcat (lambda (file)
               (let ((path (jumpseat--region-file (plist-get file :uri))))
                 (jumpseat--hunks-format-diff
                  (plist-get file :oldText) (plist-get file :newText)
                  (if path (file-relative-name path) (plist-get file :uri)))))
             (plist-get request :diff) ""))

(defun jumpseat-calls--fontify-diff (diff)
  "Return DIFF with faces, and without its header if it is about one file."
  (with-temp-buffer
    (insert diff)
    (delay-mode-hooks (diff-mode))
    (font-lock-ensure)
    (goto-char (point-min))
    (unless (save-excursion (re-search-forward "^--- .*\n\\+\\+\\+ " nil t 2))
      (forward-line 2))
    (buffer-substring (point) (point-max))))

(defun jumpseat-calls--cut (text)
  "Return the first lines of TEXT, and a line with the number of further lines."
  (let* ((lines (split-string (string-trim-right text) "\n"))
         (more (- (length lines) jumpseat-calls--approval-lines)))
    (string-join (append (seq-take lines jumpseat-calls--approval-lines)
                         (when (> more 0) (list (format "… %d more lines" more))))
                 "\n")))

(defun jumpseat-calls--format-arguments (request)
  "Return the arguments of the call in REQUEST, one per line."
  (let (lines)
    (map-do (lambda (key value)
              (push (format "%s: %s" (substring (symbol-name key) 1)
                            (if (stringp value) value (json-serialize value :false-object :json-false
                                                                      :null-object nil)))
                    lines))
            (plist-get request :arguments))
    (string-join (nreverse lines) "\n")))

(defun jumpseat-calls--fill-buttons (buttons)
  "Join BUTTONS, with line breaks so that they fit into this buffer's windows."
  (let ((width (jumpseat--view-find-width))
        (lines (list (car buttons))))
    (dolist (button (cdr buttons))
      (let ((longer (concat (car lines) " " button)))
        (if (< (string-width longer) width) (setcar lines longer)
          (push button lines))))
    (string-join (nreverse lines) "\n")))

(defun jumpseat-calls--format-approval (request)
  "Return the text of REQUEST, which is shown below its call."
  (let ((plain (seq-empty-p (plist-get request :diff)))
        (reason (alist-get (plist-get request :reason) jumpseat-calls--reasons nil nil #'equal)))
    (concat
     "\n" (propertize (plist-get request :title) 'face 'bold)
     (and reason (concat "\n" (propertize reason 'face 'warning)))
     "\n" (jumpseat-calls--cut (if plain (jumpseat-calls--format-arguments request)
                                 (jumpseat-calls--fontify-diff
                                  (jumpseat-calls--format-diff request))))
     "\n" (jumpseat-calls--fill-buttons
           (delq nil (list (jumpseat--view-make-button "Allow" #'jumpseat-allow)
                           (jumpseat--view-make-button "Deny" #'jumpseat-deny)
                           (unless plain (jumpseat--view-make-button "Diff" #'jumpseat-show-diff))
                           (unless (seq-empty-p (plist-get request :remember))
                             (jumpseat--view-make-button "Remember" #'jumpseat-allow-and-remember))))))))

(defun jumpseat-calls--reveal (overlay)
  "Scroll each window with point at or below OVERLAY to show its whole request."
  (dolist (window (get-buffer-window-list nil nil t))
    (when (>= (window-point window) (overlay-start overlay))
      (with-selected-window window
        (let ((lines (length (split-string (overlay-get overlay 'after-string) "\n"))))
          (recenter (- (min (1+ lines) (1- (window-body-height))))))))))

(defun jumpseat--calls-ask (turn request position)
  "Show REQUEST, a `tool_approval' delta of TURN, at its call.
If the call is not in this buffer, show REQUEST below POSITION."
  (let ((overlay (or (jumpseat-calls--find (plist-get request :toolUseId))
                     (let ((line (save-excursion (goto-char position) (line-end-position))))
                       (jumpseat--view-put-overlay line line 'message)))))
    (overlay-put overlay 'jumpseat-approval request)
    (overlay-put overlay 'jumpseat-turn turn)
    (jumpseat-approval-mode)
    ;; The mode must be on before the buttons are made, or they show no keys.
    (overlay-put overlay 'after-string
                 (concat jumpseat--view-cursor (jumpseat-calls--format-approval request)))
    (when (overlay-get overlay 'jumpseat-call)
      (jumpseat-calls--set-status overlay "needs your approval"))
    (jumpseat--view-update :state 'approving)
    (jumpseat-calls--reveal overlay)
    (unless (get-buffer-window nil t)
      (jumpseat--say "%s needs your approval: %s" (buffer-name) (plist-get request :title)))))

(defun jumpseat-calls--forget-approval (overlay)
  "Remove the approval request of OVERLAY."
  (overlay-put overlay 'jumpseat-approval nil)
  (overlay-put overlay 'after-string nil)
  (unless (jumpseat-calls--list 'jumpseat-approval)
    (jumpseat-approval-mode -1)))

(defun jumpseat--calls-update (delta)
  "Show DELTA, a `tool_status', at its call."
  (when-let ((overlay (jumpseat-calls--find (plist-get delta :toolUseId))))
    (jumpseat-calls--forget-approval overlay)
    (let ((progress (plist-get delta :progress)) (total (plist-get delta :total))
          (message (plist-get delta :message)))
      (jumpseat-calls--set-status
       overlay
       (concat (plist-get delta :status)
               (and progress total (> total 0) (format " %d %%" (/ (* 100 progress) total)))
               (and message (not (string-empty-p message)) (concat ": " message)))))))

(defun jumpseat--calls-end ()
  "Remove the approval requests of this buffer after the turn has ended."
  (mapc #'jumpseat-calls--forget-approval (jumpseat-calls--list 'jumpseat-approval)))

;;; Decisions

(defun jumpseat-calls--find-approval ()
  "Return the overlay of the approval request at point, or else of the first one."
  (let ((asked (jumpseat-calls--list 'jumpseat-approval)))
    (or (seq-find (lambda (each) (<= (overlay-start each) (point) (overlay-end each))) asked)
        (car asked)
        (user-error "No call needs your approval"))))

(defun jumpseat-calls--decide (overlay decision &rest more)
  "Send DECISION about the approval request of OVERLAY, with MORE params."
  (let ((id (plist-get (overlay-get overlay 'jumpseat-approval) :toolUseId))
        (turn (overlay-get overlay 'jumpseat-turn)))
    (jumpseat-calls--forget-approval overlay)
    (when (overlay-get overlay 'jumpseat-call)
      (jumpseat-calls--set-status overlay (if (equal decision "allow") "allowed" "denied")))
    (jumpseat--view-update :state (if jumpseat-approval-mode 'approving 'calling))
    (apply #'jumpseat--turn-decide turn id decision
           (jumpseat--make-callback
            (lambda (result)
              (unless (jumpseat--true-p (plist-get result :decided))
                (jumpseat--say "The call was already decided."))))
           more)))

(defun jumpseat-allow ()
  "Allow the call at point, or else the first one that needs approval."
  (interactive)
  (jumpseat-calls--decide (jumpseat-calls--find-approval) "allow"))

(defun jumpseat-deny (&optional reason)
  "Deny the call at point, or else the first one that needs approval.
With a prefix argument, read a REASON for the model."
  (interactive (list (when current-prefix-arg
                       (jumpseat-calls--find-approval) ; If there is none, signal an error now.
                       (read-string "Reason for denying (sent to the model): "))))
  (apply #'jumpseat-calls--decide (jumpseat-calls--find-approval) "deny"
         (unless (string-empty-p (or reason "")) (list :message reason))))

(defun jumpseat-calls--list-choices (request)
  "Return the choices for remembering a decision about REQUEST."
  (let ((tool (concat (plist-get request :server) "/" (plist-get request :tool)))
        (server (concat "every tool of " (plist-get request :server))))
    (seq-mapcat
     (lambda (remember)
       (let ((time (pcase remember
                     ("turn" "in this answer") ("conversation" "in this chat")
                     (_ "always, in every chat"))))
         (list (list (format "%s %s" tool time) (list :remember remember) "")
               (list (format "%s %s" server time) (list :remember remember :scope "server") ""))))
     (plist-get request :remember))))

(defun jumpseat-allow-and-remember ()
  "Allow the call at point, or else the first one, and choose what else to allow."
  (interactive)
  (let* ((overlay (jumpseat-calls--find-approval))
         (request (overlay-get overlay 'jumpseat-approval))
         (buffer (current-buffer)))
    (when (seq-empty-p (plist-get request :remember))
      (user-error "This call has to be decided each time"))
    (jumpseat--ui-choose
     "Allow" (jumpseat-calls--list-choices request) 'jumpseat-decision
     (lambda (choice)
       (when (and (buffer-live-p buffer) (eq request (overlay-get overlay 'jumpseat-approval)))
         (with-current-buffer buffer
           (apply #'jumpseat-calls--decide overlay "allow" choice)))))))

(defun jumpseat-show-diff ()
  "Show the diff of the call at point, or else of the first one, in Diff mode."
  (interactive)
  (let* ((request (overlay-get (jumpseat-calls--find-approval) 'jumpseat-approval))
         (text (jumpseat-calls--format-diff request)))
    (when (string-empty-p text) (user-error "This call does not change a file"))
    (with-current-buffer (get-buffer-create "*jumpseat diff*")
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert text)
        (diff-mode)
        (setq buffer-read-only t)
        (goto-char (point-min)))
      (display-buffer (current-buffer)))))

(provide 'jumpseat-calls)
;;; jumpseat-calls.el ends here
