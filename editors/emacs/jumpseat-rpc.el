;;; jumpseat-rpc.el --- The connection to the jumpseat daemon  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; One `jumpseat attach' process for this Emacs.  Requests start it when needed, never block, and
;; have no time limit: a model may think for minutes.  Everything that the daemon sends is handled
;; by a timer instead of the process filter, in order.  In jsonrpc.el of Emacs 28 an error in the
;; filter holds up the messages behind it, and so would a question in the minibuffer.

;;; Code:

(require 'cl-lib)
(require 'jsonrpc)
(require 'jumpseat-core)
(require 'jumpseat-garbage)

(defconst jumpseat-rpc--restarts 5
  "A process that ends more often than this within some time is not started again.")
(defconst jumpseat-rpc--restart-seconds 180 "That time, in seconds.")
(defconst jumpseat-rpc--initialize-seconds 20 "How long the daemon may take to be ready.")
(defconst jumpseat-rpc--coalesce-ms 16 "One frame at 60 Hz: the daemon joins deltas within it.")

(defconst jumpseat-rpc--commands '(:signIn "M-x jumpseat-login" :check "M-x jumpseat-doctor")
  "The commands of this package that hints of the daemon may name.")

(defconst jumpseat-rpc--needed
  '("chat/start" "chat/cancel" "edit/start" "prompts/get" "prompts/list" "settings/schema"
    "transcript/check" "transcript/parse" "transcript/render")
  "What this package cannot do without.")

(cl-defstruct (jumpseat-rpc--link (:constructor jumpseat-rpc--make-link))
  command                    ; the program, a list of words
  connection                 ; of jsonrpc.el
  process
  (state 'starting)          ; or `ready' or `ending'
  (waiting nil)              ; requests until `initialize' is answered, the last one first
  (pending nil)              ; a list of the callback for each request without an answer
  info)                      ; the answer to `initialize'

(defvar jumpseat-rpc--link nil "The process that runs, or nil.")
(defvar jumpseat-rpc--crashes nil "When processes ended without being asked to.")
(defvar jumpseat-rpc--listeners nil "An alist of methods and functions; see `jumpseat-rpc-on'.")
(defvar jumpseat-rpc--inbox nil "What is to be called, in order.")
(defvar jumpseat-rpc--inbox-timer nil "The timer that calls it.")

;;; Out of the filter

(defun jumpseat-rpc--drain ()
  "Call what is in the inbox.  An error of one does not hold up the others."
  (setq jumpseat-rpc--inbox-timer nil)
  (while jumpseat-rpc--inbox
    (let ((call (pop jumpseat-rpc--inbox)))
      (when jumpseat-rpc--inbox
        (jumpseat-rpc--schedule))
      (condition-case failure
          (apply (car call) (cdr call))
        (quit nil)
        ((debug error)
         (jumpseat-say "Internal error: %s" (error-message-string failure)))))))

(defun jumpseat-rpc--schedule ()
  "Have the inbox called soon.
Also from a recursive edit within a call, which may last."
  (unless jumpseat-rpc--inbox-timer
    (setq jumpseat-rpc--inbox-timer (run-at-time 0 nil #'jumpseat-rpc--drain))))

(defun jumpseat-rpc--later (function &rest arguments)
  "Call FUNCTION with ARGUMENTS soon, after all others."
  (setq jumpseat-rpc--inbox (nconc jumpseat-rpc--inbox (list (cons function arguments))))
  (jumpseat-rpc--schedule))

(defun jumpseat-rpc-on (method listener)
  "Call LISTENER with the params of each notification METHOD, a symbol.
`ready' and `end' are sent by this file: with the answer to `initialize', and
with the error after a process ended."
  (cl-pushnew listener (alist-get method jumpseat-rpc--listeners) :test #'equal))

(defun jumpseat-rpc--emit (method params)
  "Call the listeners of METHOD with PARAMS."
  (dolist (listener (alist-get method jumpseat-rpc--listeners))
    (funcall listener params)))

;;; Errors of the process

(defun jumpseat-rpc--missing ()
  "The error for a program that is not there."
  (if jumpseat-command
      (jumpseat-failure "config" (format "The program %s was not found." (car jumpseat-command))
                        (format-message "Correct `jumpseat-command', or set it to nil."))
    (jumpseat-failure
     "config" "The program jumpseat was not found."
     (substitute-command-keys "Run \\[jumpseat-install], or install it with \
`pipx install jumpseat', or set `jumpseat-command'."))))

(defun jumpseat-rpc--too-old (link lacks)
  "The error for the program of LINK, which LACKS something."
  (let ((version (jumpseat-get (jumpseat-rpc--link-info link) :serverInfo :version)))
    (jumpseat-failure
     "config"
     (format "jumpseat %sat %s is too old for this package (it lacks %s)."
             (if version (concat version " ") "")
             (string-join (jumpseat-rpc--link-command link) " ") lacks)
     (substitute-command-keys
      (format (if jumpseat-command
                  "Upgrade it to %s, or set `jumpseat-command' to nil and run \\[jumpseat-install]."
                "\\[jumpseat-install] installs jumpseat %s for this package.")
              jumpseat-version)))))

(defun jumpseat-rpc--resume-garbage ()
  "Let Emacs collect garbage if no answer is awaited."
  (unless (and jumpseat-rpc--link (jumpseat-rpc--link-pending jumpseat-rpc--link))
    (jumpseat-garbage-resume)))

(defun jumpseat-rpc--fail-all (link err)
  "Report ERR to everything that waits for LINK."
  (let ((callbacks (append (mapcar #'car (reverse (jumpseat-rpc--link-pending link)))
                           (mapcar #'caddr (reverse (jumpseat-rpc--link-waiting link))))))
    (setf (jumpseat-rpc--link-pending link) nil
          (jumpseat-rpc--link-waiting link) nil)
    (jumpseat-rpc--resume-garbage)
    (dolist (callback callbacks)
      (jumpseat-rpc--later callback err nil))
    (jumpseat-rpc--later #'jumpseat-rpc--emit 'end err)))

(defun jumpseat-rpc--explain (link code)
  "Report why LINK ended with CODE before it was ready."
  (let ((command (jumpseat-rpc--link-command link)))
    (jumpseat-run-process
     (append command '("attach" "--help"))
     (lambda (probe output)
       (let* ((said (if (eql probe 0) (jumpseat-rpc--stderr link) output))
              (reason (string-remove-suffix "." (car (last (split-string said "\n"))))))
         (jumpseat-rpc--fail-all
          link
          ;; A release without `attach' names it.
          (if (and (not (eql probe 0)) (string-search "'attach'" output))
              (jumpseat-rpc--too-old link "attach")
            (jumpseat-failure
             "connection"
             (format "jumpseat ended with code %d before it was ready%s." code
                     (if (string-empty-p reason) "" (concat ": " reason)))
             (concat (substitute-command-keys "See \\[jumpseat-log], or run ")
                     (format-message "`%s attach' in a terminal." (string-join command " ")))))))))))

(defun jumpseat-rpc--crashed (link code)
  "Report that LINK ended with CODE, and start another one within the budget."
  (let ((now (float-time)))
    (setq jumpseat-rpc--crashes
          (cons now (seq-filter (lambda (at) (< (- now at) jumpseat-rpc--restart-seconds))
                                jumpseat-rpc--crashes)))
    (let* ((again (<= (length jumpseat-rpc--crashes) jumpseat-rpc--restarts))
           (err (jumpseat-failure
                 "connection" (format "jumpseat ended unexpectedly (code %d)." code)
                 (if again "It was started again."
                   (substitute-command-keys
                    "It ended too often to be started again by itself: see \\[jumpseat-log].")))))
      (jumpseat-say-error err)
      (when again (jumpseat-rpc-start))
      (jumpseat-rpc--fail-all link err))))

(defun jumpseat-rpc--ended (link)
  "Handle the end of the process of LINK."
  (let ((code (process-exit-status (jumpseat-rpc--link-process link)))
        (state (jumpseat-rpc--link-state link)))
    (jumpseat-log-write "jumpseat ended: code %d\n%s" code (jumpseat-rpc--stderr link))
    (when (eq jumpseat-rpc--link link) (setq jumpseat-rpc--link nil))
    (setf (jumpseat-rpc--link-state link) 'ending)
    (pcase state
      ('ending (jumpseat-rpc--fail-all
                link (jumpseat-failure "connection" "jumpseat was stopped.")))
      ('starting (jumpseat-rpc--explain link code))
      (_ (jumpseat-rpc--crashed link code)))))

(defun jumpseat-rpc--stderr (link)
  "What the process of LINK wrote to stderr."
  (let ((buffer (jsonrpc-stderr-buffer (jumpseat-rpc--link-connection link))))
    (if (not (buffer-live-p buffer)) ""
      (string-trim
       ;; Emacs adds this when the pipe is closed.
       (replace-regexp-in-string "^Process jumpseat stderr.*$" ""
                                 (with-current-buffer buffer (buffer-string)))))))

;;; Start and end

(defun jumpseat-rpc--initialized (link err result)
  "Use LINK once `initialize' was answered with ERR or RESULT."
  (when (eq (jumpseat-rpc--link-state link) 'starting)
    (setf (jumpseat-rpc--link-info link) result)
    (unless err
      (let* ((methods (jumpseat-get result :capabilities :experimental :jumpseat :methods))
             (lacks (seq-difference jumpseat-rpc--needed (jumpseat-list methods))))
        (when lacks (setq err (jumpseat-rpc--too-old link (string-join lacks ", "))))))
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
      (jumpseat-rpc--emit 'ready result))))

(defun jumpseat-rpc--received (connection method params)
  "Handle the notification METHOD of CONNECTION with PARAMS."
  (when (and jumpseat-rpc--link (eq connection (jumpseat-rpc--link-connection jumpseat-rpc--link)))
    (jumpseat-rpc--later #'jumpseat-rpc--emit method params)))

(defun jumpseat-rpc--refuse (_connection _method _params)
  "Refuse a request of the daemon: it sends none to a client like this one."
  (jsonrpc-error :code -32601 :message "no such method"))

(defun jumpseat-rpc--read ()
  "Read the message in this narrowed buffer.
One that Emacs cannot read, such as a number that is too large, becomes an error
of its request; jsonrpc.el would drop it, and the request would never end."
  (condition-case failure
      (json-parse-buffer :object-type 'plist :null-object nil :false-object :json-false)
    (error
     (jumpseat-log-write "A message could not be read: %s" (error-message-string failure))
     (goto-char (point-min))
     (when (looking-at "{\"jsonrpc\": ?\"2.0\", ?\"id\": ?\\([0-9]+\\)")
       (list :id (string-to-number (match-string 1))
             :error (jumpseat-failure "protocol" "Emacs could not read the answer of jumpseat."
                                      (substitute-command-keys "See \\[jumpseat-log].")))))))

(defun jumpseat-rpc--filter (filter process text)
  "Call FILTER, that of jsonrpc.el, with PROCESS and TEXT.
Messages are read by `jumpseat-rpc--read'."
  (cl-letf (((symbol-function 'jsonrpc--json-read) #'jumpseat-rpc--read))
    (funcall filter process text)))

(defun jumpseat-rpc--connect (link)
  "Start the process of LINK."
  (let* ((default-directory (jumpseat-local-directory))
         (file (jumpseat-log-file))
         (words (append (jumpseat-rpc--link-command link)
                        (list "attach" "--log-level" jumpseat-log-level
                              "--log-file" (expand-file-name file))
                        jumpseat-arguments))
         (start (lambda ()
                  ;; With adaptive buffering, Emacs 28 waits for more output before it reads.
                  (let ((process-adaptive-read-buffering nil))
                    (setf (jumpseat-rpc--link-process link)
                          (make-process :name "jumpseat" :command words :connection-type 'pipe
                                        :coding 'utf-8-emacs-unix :noquery t
                                        ;; jsonrpc.el knows the buffer by this name.
                                        :stderr (get-buffer-create "*jumpseat stderr*"))))))
         (arguments (list :name "jumpseat" :process start
                          :notification-dispatcher #'jumpseat-rpc--received
                          :request-dispatcher #'jumpseat-rpc--refuse
                          :on-shutdown (lambda (_connection)
                                         (jumpseat-rpc--later #'jumpseat-rpc--ended link)))))
    (make-directory (file-name-directory file) t)
    (setf (jumpseat-rpc--link-connection link)
          ;; A log of each message would cost more than all else.  Older releases of jsonrpc.el do
          ;; not know the first key, newer ones warn of the second.
          (condition-case nil
              (apply #'jsonrpc-process-connection :events-buffer-config '(:size 0) arguments)
            (invalid-slot-name
             (apply #'jsonrpc-process-connection :events-buffer-scrollback-size 0 arguments))))
    (add-function :around (process-filter (jumpseat-rpc--link-process link)) #'jumpseat-rpc--filter)))

(defun jumpseat-rpc-start ()
  "Start the daemon's process if it does not run.
Returns an error if it cannot be started; later ones reach the requests."
  (unless jumpseat-rpc--link
    (let* ((command (jumpseat-program))
           (link (jumpseat-rpc--make-link :command command)))
      (condition-case failure
          (if (not (and command (jumpseat-find-program (car command))))
              (jumpseat-rpc--missing)
            (jumpseat-rpc--connect link)
            (setq jumpseat-rpc--link link)
            (add-hook 'kill-emacs-hook #'jumpseat-rpc--leave)
            (jumpseat-rpc--initialize link)
            nil)
        (file-error
         (jumpseat-log-write "%s" (error-message-string failure))
         (jumpseat-rpc--missing))))))

(defun jumpseat-rpc--initialize (link)
  "Send `initialize' over LINK."
  (jumpseat-rpc--send
   link "initialize"
   (list :processId (emacs-pid) :rootUri nil :capabilities nil
         :clientInfo (list :name "Emacs" :version emacs-version)
         :initializationOptions (list :config jumpseat-config
                                      :coalesceMs jumpseat-rpc--coalesce-ms
                                      :commands jumpseat-rpc--commands))
   (lambda (err result) (jumpseat-rpc--initialized link err result)))
  (run-at-time jumpseat-rpc--initialize-seconds nil
               #'jumpseat-rpc--initialized link
               (jumpseat-failure
                "connection"
                (format "jumpseat did not answer within %d seconds."
                        jumpseat-rpc--initialize-seconds)
                (substitute-command-keys "See \\[jumpseat-log]."))
               nil))

(defun jumpseat-rpc--leave ()
  "Let the process end with Emacs.
Nothing is sent and nothing waited for: the end of its input ends the session,
and a daemon that does not read would hold up Emacs."
  (when jumpseat-rpc--link
    (setf (jumpseat-rpc--link-state jumpseat-rpc--link) 'ending)))

(defun jumpseat-rpc-stop ()
  "End the process, without waiting for its end."
  (when-let ((link jumpseat-rpc--link))
    (setf (jumpseat-rpc--link-state link) 'ending)
    (setq jumpseat-rpc--link nil)
    (jsonrpc-async-request (jumpseat-rpc--link-connection link) 'shutdown nil
                           :success-fn #'ignore :error-fn #'ignore :timeout nil)
    (jsonrpc-notify (jumpseat-rpc--link-connection link) 'exit nil)))

(defun jumpseat-restart ()
  "Start the connection to the daemon again."
  (interactive)
  (jumpseat-rpc-stop)
  (setq jumpseat-rpc--crashes nil)
  (let ((err (jumpseat-rpc-start)))
    (if err (jumpseat-say-error err) (jumpseat-say "Started."))))

;;; Requests

(defun jumpseat-rpc--text (value)
  "VALUE, params, with U+FFFD for what JSON cannot express, and for U+0000.
The daemon would replace that too, because Emacs before 30 cannot read it."
  (cond ((stringp value)
         (replace-regexp-in-string "[\0\uD800-\uDFFF\x3fff80-\x3fffff]" "\uFFFD" value t t))
        ((vectorp value) (vconcat (mapcar #'jumpseat-rpc--text value)))
        ((consp value) (cons (jumpseat-rpc--text (car value)) (jumpseat-rpc--text (cdr value))))
        (t value)))

(defun jumpseat-rpc--call (link method params answered)
  "Send METHOD with PARAMS over LINK.
ANSWERED gets an error or nil, and the result."
  (jsonrpc-async-request
   (jumpseat-rpc--link-connection link) (intern method) params
   :success-fn (lambda (result) (funcall answered nil result))
   ;; jsonrpc.el's own error for a process that ended; the end itself says more.
   :error-fn (lambda (err) (unless (eql (plist-get err :code) -1) (funcall answered err nil)))
   :timeout nil))

(defun jumpseat-rpc--send (link method params callback)
  "Send METHOD with PARAMS over LINK.
CALLBACK gets an error or nil, and the result."
  (let* ((entry (list callback))
         (answered (lambda (err result)
                     (when (memq entry (jumpseat-rpc--link-pending link))
                       (setf (jumpseat-rpc--link-pending link)
                             (delq entry (jumpseat-rpc--link-pending link)))
                       (jumpseat-rpc--resume-garbage)
                       (jumpseat-rpc--later callback err result)))))
    (push entry (jumpseat-rpc--link-pending link))
    (jumpseat-garbage-defer)
    (condition-case failure
        (jumpseat-rpc--call link method (jumpseat-rpc--text params) answered)
      (error
       (jumpseat-log-write "%s was not sent: %s" method (error-message-string failure))
       ;; If the process has ended, and Emacs has not handled that yet, its end will be the answer.
       (when (process-live-p (jumpseat-rpc--link-process link))
         (funcall answered
                  (jumpseat-failure "internal" (format "%s could not be sent: %s." method
                                                       (error-message-string failure)))
                  nil))))))

(defun jumpseat-rpc-request (method params callback)
  "Send the request METHOD with PARAMS; the daemon need not run yet.
CALLBACK is called once, later, with an error or nil, and the result."
  (let ((err (jumpseat-rpc-start)))
    (cond
     (err (jumpseat-rpc--later callback err nil))
     ((eq (jumpseat-rpc--link-state jumpseat-rpc--link) 'starting)
      (push (list method params callback) (jumpseat-rpc--link-waiting jumpseat-rpc--link)))
     (t (jumpseat-rpc--send jumpseat-rpc--link method params callback)))))

(defun jumpseat-rpc-notify (method params)
  "Send the notification METHOD with PARAMS, if the daemon is connected."
  (when (and jumpseat-rpc--link (eq (jumpseat-rpc--link-state jumpseat-rpc--link) 'ready))
    (jsonrpc-notify (jumpseat-rpc--link-connection jumpseat-rpc--link) (intern method) params)))

(defun jumpseat-rpc-info ()
  "The daemon's answer to `initialize', or nil if it is not connected."
  (and jumpseat-rpc--link (jumpseat-rpc--link-info jumpseat-rpc--link)))

(provide 'jumpseat-rpc)
;;; jumpseat-rpc.el ends here
