;;; jumpseat-rpc.el --- The connection to the jumpseat daemon  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; One `jumpseat attach' process for this Emacs.  Requests start it if needed.
;; They never block, and have no time limit, because a model may think for
;; minutes.

;;; Code:

(require 'cl-lib)
(require 'jsonrpc)
(require 'jumpseat-core)
(require 'jumpseat-inbox)

(defconst jumpseat-rpc--restarts 5
  "The maximum number of restarts within `jumpseat-rpc--restart-seconds'.")
(defconst jumpseat-rpc--restart-seconds 180 "See `jumpseat-rpc--restarts'.")
(defconst jumpseat-rpc--initialize-seconds 20 "The time limit for `initialize'.")
(defconst jumpseat-rpc--coalesce-ms 50
  "The daemon merges deltas that arrive within this time.
Each message and the redisplay after it leave about 10 KB of garbage, so a
shorter time would make Emacs collect garbage more often.")

(defconst jumpseat-rpc--commands
  '(:signIn "M-x jumpseat-login" :setKey "M-x jumpseat-set-key" :check "M-x jumpseat-doctor")
  "The commands of this package that the daemon may name in hints.")

(defconst jumpseat-rpc--capabilities
  '(:workspace (:applyEdit t) :experimental (:jumpseat (:approveTools t :unsaved t)))
  "The abilities of this package that the daemon needs to run tools.")
(defconst jumpseat-rpc--needed
  '("chat/start" "chat/cancel" "edit/start" "prompts/get" "prompts/list" "settings/schema"
    "transcript/check" "transcript/parse" "transcript/render")
  "The methods that this package requires.")

(cl-defstruct (jumpseat-rpc--link (:constructor jumpseat-rpc--make-link))
  command                    ; the program, a list of words
  connection                 ; the object of jsonrpc.el
  process
  (state 'starting)          ; or `ready' or `ending'
  (waiting nil)              ; requests made before `ready', the last one first
  (pending nil)              ; for each open request, a list that contains its callback
  info)                      ; the answer to `initialize'

(defvar jumpseat-rpc--link nil "The link to the running process, or nil.")
(defvar jumpseat--rpc-folders-function #'ignore
  "A function that returns the workspace folders of this Emacs when it connects.")
(defvar jumpseat-rpc--responders nil "An alist of methods and functions; see `jumpseat--rpc-serve'.")
(defvar jumpseat-rpc--crashes nil "The times of recent crashes.")

;;; Process errors

(defun jumpseat-rpc--make-missing-error ()
  "Create the error for a missing program."
  (if jumpseat-command
      (jumpseat--make-failure "config" (format "The program %s was not found." (car jumpseat-command))
                              (format-message "Correct `jumpseat-command', or set it to nil."))
    (jumpseat--make-failure
     "config" "The program jumpseat was not found."
     (substitute-command-keys "Run \\[jumpseat-install], or set `jumpseat-command'."))))

(defun jumpseat-rpc--make-too-old-error (link missing)
  "Create the error for the program of LINK, which is too old.
MISSING names the methods or the command that the program lacks."
  (let ((version (jumpseat--get (jumpseat-rpc--link-info link) :serverInfo :version)))
    (jumpseat--make-failure
     "config"
     (format "jumpseat %sat %s is too old for this package (it lacks %s)."
             (if version (concat version " ") "")
             (string-join (jumpseat-rpc--link-command link) " ") missing)
     (substitute-command-keys
      (format (if jumpseat-command
                  "Upgrade it to %s, or set `jumpseat-command' to nil and run \\[jumpseat-install]."
                "\\[jumpseat-install] installs jumpseat %s for this package.")
              jumpseat-version)))))

(defun jumpseat-rpc--fail-all (link err)
  "Pass ERR to all callbacks that wait for LINK, and emit `end'."
  (let ((callbacks (append (mapcar #'car (reverse (jumpseat-rpc--link-pending link)))
                           (mapcar #'caddr (reverse (jumpseat-rpc--link-waiting link))))))
    (setf (jumpseat-rpc--link-pending link) nil
          (jumpseat-rpc--link-waiting link) nil)
    (dolist (callback callbacks)
      (jumpseat--inbox-add callback err nil))
    (jumpseat--inbox-add #'jumpseat--inbox-emit 'end err)))

(defun jumpseat-rpc--report-early-end (link code)
  "Report why LINK ended with CODE before it was ready.
Run its program with `attach --help'.  If that fails too, the output is the
reason; otherwise, the reason is the text that LINK wrote to stderr."
  (let ((command (jumpseat-rpc--link-command link)))
    (jumpseat--run-process
     (append command '("attach" "--help"))
     (lambda (probe output)
       (let* ((said (if (eql probe 0) (jumpseat-rpc--get-stderr link) output))
              (reason (string-remove-suffix "." (car (last (split-string said "\n"))))))
         (jumpseat-rpc--fail-all
          link
          ;; A release without `attach' reports it as an unknown command.
          (if (and (not (eql probe 0)) (string-search "'attach'" output))
              (jumpseat-rpc--make-too-old-error link "attach")
            (jumpseat--make-failure
             "connection"
             (format "jumpseat ended with code %d before it was ready%s." code
                     (if (string-empty-p reason) "" (concat ": " reason)))
             (concat (substitute-command-keys "See \\[jumpseat-log], or run ")
                     (format-message "`%s attach' in a terminal." (string-join command " ")))))))))))

(defun jumpseat-rpc--handle-crash (link code)
  "Report that LINK ended with CODE; restart it unless it ends too often."
  (let ((now (float-time)))
    (setq jumpseat-rpc--crashes
          (cons now (seq-filter (lambda (at) (< (- now at) jumpseat-rpc--restart-seconds))
                                jumpseat-rpc--crashes)))
    (let* ((again (<= (length jumpseat-rpc--crashes) jumpseat-rpc--restarts))
           (err (jumpseat--make-failure
                 "connection" (format "jumpseat ended unexpectedly (code %d)." code)
                 (if again "It is being restarted."
                   (substitute-command-keys
                    "It ended too often to be restarted automatically. See \\[jumpseat-log].")))))
      (jumpseat--say-error err)
      (when again (jumpseat--rpc-start))
      (jumpseat-rpc--fail-all link err))))

(defun jumpseat-rpc--handle-end (link)
  "Handle the end of the process of LINK."
  (let ((code (process-exit-status (jumpseat-rpc--link-process link)))
        (state (jumpseat-rpc--link-state link)))
    (jumpseat--log-write "jumpseat ended: code %d\n%s" code (jumpseat-rpc--get-stderr link))
    (when (eq jumpseat-rpc--link link) (setq jumpseat-rpc--link nil))
    (setf (jumpseat-rpc--link-state link) 'ending)
    (pcase state
      ('ending (jumpseat-rpc--fail-all
                link (jumpseat--make-failure "connection" "jumpseat was stopped.")))
      ('starting (jumpseat-rpc--report-early-end link code))
      (_ (jumpseat-rpc--handle-crash link code)))))

(defun jumpseat-rpc--get-stderr (link)
  "Return the text that the process of LINK wrote to stderr."
  (let ((buffer (jsonrpc-stderr-buffer (jumpseat-rpc--link-connection link))))
    (if (not (buffer-live-p buffer)) ""
      (string-trim
       ;; Emacs inserts this when the pipe is closed.
       (replace-regexp-in-string "^Process jumpseat stderr.*$" ""
                                 (with-current-buffer buffer (buffer-string)))))))

;;; Start and end

(defun jumpseat-rpc--handle-initialize (link err result)
  "Set LINK up after `initialize' was answered with ERR or RESULT."
  (when (eq (jumpseat-rpc--link-state link) 'starting)
    (setf (jumpseat-rpc--link-info link) result)
    (unless err
      (let* ((methods (jumpseat--get result :capabilities :experimental :jumpseat :methods))
             (lacks (seq-difference jumpseat-rpc--needed (jumpseat--list methods))))
        (when lacks (setq err (jumpseat-rpc--make-too-old-error link (string-join lacks ", "))))))
    (if err
        (progn
          (setf (jumpseat-rpc--link-state link) 'ending)
          (when (eq jumpseat-rpc--link link) (setq jumpseat-rpc--link nil))
          (jumpseat-rpc--fail-all link err)
          (delete-process (jumpseat-rpc--link-process link)))
      (setf (jumpseat-rpc--link-state link) 'ready)
      (jsonrpc-notify (jumpseat-rpc--link-connection link) 'initialized nil)
      (let ((waiting (reverse (jumpseat-rpc--link-waiting link))))
        (setf (jumpseat-rpc--link-waiting link) nil)
        (dolist (each waiting)
          (apply #'jumpseat-rpc--send link each)))
      (jumpseat--inbox-emit 'ready result))))

(defun jumpseat-rpc--handle-notification (connection method params)
  "Handle the notification METHOD of CONNECTION with PARAMS."
  (when (and jumpseat-rpc--link (eq connection (jumpseat-rpc--link-connection jumpseat-rpc--link)))
    (jumpseat--inbox-add #'jumpseat--inbox-emit method params)))

(defun jumpseat--rpc-serve (method responder)
  "Register RESPONDER for the daemon's requests with the name METHOD, a symbol.
RESPONDER is called with the params, and returns the result.  It must not ask
the user."
  (setf (alist-get method jumpseat-rpc--responders) responder))

(defun jumpseat-rpc--respond (_connection method params)
  "Return the result of the daemon's request METHOD with PARAMS."
  (if-let ((responder (alist-get method jumpseat-rpc--responders)))
      (jumpseat-rpc--make-valid (funcall responder params))
    (jsonrpc-error :code -32601 :message "no such method")))

(defun jumpseat-rpc--read ()
  "Parse the message in this narrowed buffer.
If Emacs cannot parse a response (a number may be too large), return an error
for the request.  jsonrpc.el would drop the response, and the request would
never end."
  (condition-case failure
      (json-parse-buffer :object-type 'plist :null-object nil :false-object :json-false)
    (error
     (jumpseat--log-write "A message could not be read: %s" (error-message-string failure))
     (goto-char (point-min))
     (when (looking-at "{\"jsonrpc\": ?\"2.0\", ?\"id\": ?\\([0-9]+\\)")
       (list :id (string-to-number (match-string 1))
             :error (jumpseat--make-failure "protocol" "Emacs could not parse the response of jumpseat."
                                            (substitute-command-keys "See \\[jumpseat-log].")))))))

(defun jumpseat-rpc--filter (filter process text)
  "Call FILTER of jsonrpc.el with PROCESS and TEXT.
Messages are parsed by `jumpseat-rpc--read'."
  (cl-letf (((symbol-function 'jsonrpc--json-read) #'jumpseat-rpc--read))
    (funcall filter process text)))

(defun jumpseat-rpc--connect (link)
  "Start the process of LINK."
  (let* ((default-directory (jumpseat--local-directory))
         (file (jumpseat--log-file))
         (words (append (jumpseat-rpc--link-command link)
                        (list "attach" "--log-level" jumpseat-log-level
                              "--log-file" (expand-file-name file))
                        jumpseat-arguments))
         (start (lambda ()
                  ;; With adaptive buffering, Emacs 28 delays output that has arrived.
                  (let ((process-adaptive-read-buffering nil))
                    (setf (jumpseat-rpc--link-process link)
                          (make-process :name "jumpseat" :command words :connection-type 'pipe
                                        :coding 'utf-8-emacs-unix :noquery t
                                        ;; jsonrpc.el expects this name.
                                        :stderr (get-buffer-create "*jumpseat stderr*"))))))
         (arguments (list :name "jumpseat" :process start
                          :notification-dispatcher #'jumpseat-rpc--handle-notification
                          :request-dispatcher #'jumpseat-rpc--respond
                          :on-shutdown (lambda (_connection)
                                         (jumpseat--inbox-add #'jumpseat-rpc--handle-end link)))))
    (make-directory (file-name-directory file) t)
    (setf (jumpseat-rpc--link-connection link)
          ;; Do not log each message, which would take more time than everything
          ;; else.  Old releases of jsonrpc.el do not accept the key in the first
          ;; call, and new releases warn about the key in the second call.
          (condition-case nil
              (apply #'jsonrpc-process-connection :events-buffer-config '(:size 0) arguments)
            (invalid-slot-name
             (apply #'jsonrpc-process-connection :events-buffer-scrollback-size 0 arguments))))
    (add-function :around (process-filter (jumpseat-rpc--link-process link)) #'jumpseat-rpc--filter)))

(defun jumpseat--rpc-start ()
  "Start the daemon's process if it is not running.
Return an error if it cannot be started, else nil.  Later errors are passed to
the callbacks of requests."
  (unless jumpseat-rpc--link
    (let* ((command (jumpseat--program))
           (link (jumpseat-rpc--make-link :command command)))
      (condition-case failure
          (if (not (and command (jumpseat--find-program (car command))))
              (jumpseat-rpc--make-missing-error)
            (jumpseat-rpc--connect link)
            (setq jumpseat-rpc--link link)
            (add-hook 'kill-emacs-hook #'jumpseat-rpc--leave)
            (jumpseat-rpc--initialize link)
            nil)
        (file-error
         (jumpseat--log-write "%s" (error-message-string failure))
         (jumpseat-rpc--make-missing-error))))))

(defun jumpseat-rpc--initialize (link)
  "Send `initialize' over LINK."
  (jumpseat-rpc--send
   link "initialize"
   (list :processId (emacs-pid) :rootUri nil :capabilities jumpseat-rpc--capabilities
         :workspaceFolders (funcall jumpseat--rpc-folders-function)
         :clientInfo (list :name "Emacs" :version emacs-version)
         :initializationOptions (list :config jumpseat-config
                                      :coalesceMs jumpseat-rpc--coalesce-ms
                                      :commands jumpseat-rpc--commands))
   (lambda (err result) (jumpseat-rpc--handle-initialize link err result)))
  (run-at-time jumpseat-rpc--initialize-seconds nil
               #'jumpseat-rpc--handle-initialize link
               (jumpseat--make-failure
                "connection"
                (format "jumpseat did not answer within %d seconds."
                        jumpseat-rpc--initialize-seconds)
                (substitute-command-keys "See \\[jumpseat-log]."))
               nil))

(defun jumpseat-rpc--leave ()
  "Mark the connection as ending, because Emacs is about to exit.
Do not send anything: a process that does not read its input would block Emacs.
The daemon ends the session when the input closes."
  (when jumpseat-rpc--link
    (setf (jumpseat-rpc--link-state jumpseat-rpc--link) 'ending)))

(defun jumpseat--rpc-stop ()
  "End the process, without waiting for it."
  (when-let ((link jumpseat-rpc--link))
    (setf (jumpseat-rpc--link-state link) 'ending)
    (setq jumpseat-rpc--link nil)
    (jsonrpc-async-request (jumpseat-rpc--link-connection link) 'shutdown nil
                           :success-fn #'ignore :error-fn #'ignore :timeout nil)
    (jsonrpc-notify (jumpseat-rpc--link-connection link) 'exit nil)))

(defun jumpseat-restart ()
  "Reconnect to the daemon."
  (interactive)
  (jumpseat--rpc-stop)
  (setq jumpseat-rpc--crashes nil)
  (let ((err (jumpseat--rpc-start)))
    (if err (jumpseat--say-error err) (jumpseat--say "Reconnecting to jumpseat…"))))

;;; Requests

(defun jumpseat-rpc--make-valid (value)
  "Replace U+0000, and characters that JSON cannot express, in VALUE with U+FFFD.
The daemon replaces U+0000 too, because Emacs before 30 cannot read it."
  (cond ((stringp value)
         (replace-regexp-in-string "[\0\uD800-\uDFFF\x3fff80-\x3fffff]" "\uFFFD" value t t))
        ((vectorp value) (vconcat (mapcar #'jumpseat-rpc--make-valid value)))
        ((consp value) (cons (jumpseat-rpc--make-valid (car value)) (jumpseat-rpc--make-valid (cdr value))))
        (t value)))

(defun jumpseat-rpc--call (link method params answered)
  "Send METHOD with PARAMS over LINK.
Call ANSWERED with an error or nil, and the result."
  (jsonrpc-async-request
   (jumpseat-rpc--link-connection link) (intern method) params
   :success-fn (lambda (result) (funcall answered nil result))
   ;; Ignore jsonrpc.el's own error for the end of the process:
   ;; `jumpseat-rpc--handle-end' reports a better one.
   :error-fn (lambda (err) (unless (eql (plist-get err :code) -1) (funcall answered err nil)))
   :timeout nil))

(defun jumpseat-rpc--send (link method params callback)
  "Send METHOD with PARAMS over LINK, and track the request.
Call CALLBACK with an error or nil, and the result."
  (let* ((entry (list callback))
         (answered (lambda (err result)
                     (when (memq entry (jumpseat-rpc--link-pending link))
                       (setf (jumpseat-rpc--link-pending link)
                             (delq entry (jumpseat-rpc--link-pending link)))
                       (jumpseat--inbox-add callback err result)))))
    (push entry (jumpseat-rpc--link-pending link))
    (condition-case failure
        (jumpseat-rpc--call link method (jumpseat-rpc--make-valid params) answered)
      (error
       (jumpseat--log-write "%s was not sent: %s" method (error-message-string failure))
       ;; If the process has just ended, `jumpseat-rpc--handle-end' calls the
       ;; callback.
       (when (process-live-p (jumpseat-rpc--link-process link))
         (funcall answered
                  (jumpseat--make-failure "internal" (format "%s could not be sent: %s." method
                                                             (error-message-string failure)))
                  nil))))))

(defun jumpseat--rpc-request (method params callback)
  "Send the request METHOD with PARAMS, starting the daemon if necessary.
Call CALLBACK once, later, with an error or nil, and the result."
  (let ((err (jumpseat--rpc-start)))
    (cond
     (err (jumpseat--inbox-add callback err nil))
     ((eq (jumpseat-rpc--link-state jumpseat-rpc--link) 'starting)
      (push (list method params callback) (jumpseat-rpc--link-waiting jumpseat-rpc--link)))
     (t (jumpseat-rpc--send jumpseat-rpc--link method params callback)))))

(defun jumpseat--rpc-notify (method params)
  "Send the notification METHOD with PARAMS, if the daemon is connected."
  (when (and jumpseat-rpc--link (eq (jumpseat-rpc--link-state jumpseat-rpc--link) 'ready))
    (jsonrpc-notify (jumpseat-rpc--link-connection jumpseat-rpc--link) (intern method) params)))

(defun jumpseat--rpc-info ()
  "Return the daemon's answer to `initialize', or nil if not connected."
  (and jumpseat-rpc--link (jumpseat-rpc--link-info jumpseat-rpc--link)))

(provide 'jumpseat-rpc)
;;; jumpseat-rpc.el ends here
