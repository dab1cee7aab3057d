;;; jumpseat-core.el --- Options, errors and messages of jumpseat  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The parts that all other files of jumpseat use: the options, errors in the
;; daemon's form as property lists, the log, messages to the user, the list of
;; chats, and the daemon's program.

;;; Code:

(require 'seq)
(require 'subr-x)

(defgroup jumpseat nil
  "Chat with the models of every provider, through the jumpseat daemon."
  :group 'tools
  :prefix "jumpseat-"
  :link '(url-link "https://github.com/jumpseat/jumpseat"))

(defconst jumpseat-version "0.1.0"
  "The daemon's release that this package is made for and installs.")

(defcustom jumpseat-command nil
  "The daemon's program as a list of words, without `attach'.
Nil means the program that \\[jumpseat-install] has installed, or else `jumpseat'
in variable `exec-path' or in another common directory of programs."
  :type '(choice (const :tag "Find it" nil) (repeat string)))

(defcustom jumpseat-arguments nil
  "Additional arguments of `jumpseat attach'.
A change takes effect after \\[jumpseat-restart]."
  :type '(repeat string))

(defcustom jumpseat-config nil
  "Configuration for this Emacs only.
A property list with the same keys as the daemon's configuration file, such as
\(:providers (:local (:settings (:temperature 0.2)))).
A change takes effect after \\[jumpseat-restart]."
  :type '(plist :key-type symbol :value-type sexp))

(defcustom jumpseat-model nil
  "The model of new chats and of rewrites, as \"provider:model\".
Nil is the daemon's default."
  :type '(choice (const :tag "The daemon's default" nil) string))

;; `jumpseat--file-p' reads this option before the package is loaded.
;;;###autoload
(defcustom jumpseat-directory (locate-user-emacs-file "jumpseat/chats/")
  "The directory in which \\[jumpseat-save] saves a new chat."
  :type 'directory)

(defcustom jumpseat-open-browser 'local
  "Whether signing in may open a browser; `local' means not over SSH."
  :type '(choice (const :tag "Not over SSH" local) (const :tag "Always" t) (const :tag "Never" nil)))

(defcustom jumpseat-keep t
  "Whether the daemon keeps the conversations."
  :type 'boolean)

(defcustom jumpseat-workspace-rules nil
  "Whether chats and rewrites follow the rules of the project.
These are the files AGENTS.md, CLAUDE.md and .github/copilot-instructions.md.
They may come from somebody else and can mislead the model, so they are used
only if you set this option.  The chat names the files that were used."
  :type 'boolean)

(defcustom jumpseat-log-level "warning"
  "The level of the daemon's log.
A change takes effect after \\[jumpseat-restart]."
  :type '(choice (const "debug") (const "info") (const "warning") (const "error")))

(defcustom jumpseat-log-limit 200000
  "The maximum length of this package's own log in characters; nil for no limit.
The oldest lines are removed."
  :type '(choice (const :tag "Keep all of it" nil) natnum))

(defcustom jumpseat-package nil
  "The requirement for pip that \\[jumpseat-install] installs.
Nil means the wheel in this package, or the checkout that this package is in."
  :type '(choice (const :tag "This version" nil) string))

(defface jumpseat-note '((t :inherit shadow))
  "Notes that are not part of a chat, such as the model and tokens of an answer.")

(defface jumpseat-error '((t :inherit error))
  "Errors below a question or an answer.")

;;; JSON values

(defun jumpseat--true-p (value)
  "Whether VALUE of a decoded message is true."
  (eq value t))

(defun jumpseat--get (value &rest keys)
  "Return the value at the path KEYS in VALUE, a nested property list."
  (seq-reduce #'plist-get keys value))

(defun jumpseat--list (array)
  "Convert ARRAY of a decoded message to a list."
  (append array nil))

;;; Errors

(defun jumpseat--make-failure (kind message &optional hint)
  "Create an error in the daemon's form from KIND, MESSAGE and HINT."
  (list :code 0 :message message :data (list :kind kind :hint hint)))

(defun jumpseat--format-error (err)
  "Format ERR for the user: its message, then its hint."
  (let ((hint (jumpseat--get err :data :hint))
        (message (plist-get err :message)))
    (if hint (concat message " " hint) message)))

;;; Log and messages

(defconst jumpseat--log-buffer "*jumpseat log*" "The buffer of this package's own log.")

(defun jumpseat--log-file ()
  "Return the path of the daemon's log, which the daemon writes itself."
  (locate-user-emacs-file "jumpseat/daemon.log"))

(defun jumpseat-log--trim ()
  "Remove the oldest lines of this buffer beyond `jumpseat-log-limit'."
  (let ((excess (if jumpseat-log-limit (- (buffer-size) jumpseat-log-limit) 0)))
    (when (> excess 0)
      (goto-char (+ (point-min) excess))
      ;; A single line that is too long is cut.
      (search-forward "\n" (1- (point-max)) t)
      (delete-region (point-min) (point)))))

(defun jumpseat--log-write (format &rest arguments)
  "Append a line to the log: FORMAT with ARGUMENTS.
Never log the text of chats."
  (with-current-buffer (get-buffer-create jumpseat--log-buffer)
    (unless (derived-mode-p 'special-mode)
      (special-mode)
      (setq buffer-undo-list t))
    (let ((inhibit-read-only t))
      (save-excursion
        (save-restriction
          (widen)
          (goto-char (point-max))
          (insert (format-time-string "%FT%T ") (apply #'format format arguments) "\n")
          (jumpseat-log--trim))))))

(defun jumpseat--log-filter ()
  "Return a process filter that logs each line once all of it has arrived."
  (let ((rest ""))
    (lambda (_process text)
      (let ((lines (split-string (concat rest text) "\n")))
        (setq rest (car (last lines)))
        (dolist (line (butlast lines)) (jumpseat--log-write "%s" line))))))

(defun jumpseat--say (format &rest arguments)
  "Show FORMAT with ARGUMENTS in the echo area, and log it."
  (let ((text (apply #'format-message format arguments)))
    (jumpseat--log-write "%s" text)
    (message "jumpseat: %s" text)))

(defun jumpseat--say-error (err)
  "Show the message and the hint of ERR."
  (jumpseat--say "%s" (jumpseat--format-error err)))

(defun jumpseat--make-callback (next)
  "Return a callback that passes the result of a request to NEXT.
If the request fails, the callback shows the error instead."
  (lambda (err result)
    (if err (jumpseat--say-error err) (funcall next result))))

;;; Chats

(defvar-local jumpseat-chat-mode nil
  "Non-nil if this buffer is a chat.
Use the command `jumpseat-chat-mode' to change this variable.")

(defun jumpseat--chat-list ()
  "Return the chats, most recently used first."
  (seq-filter (lambda (each) (with-current-buffer each jumpseat-chat-mode)) (buffer-list)))

(defun jumpseat--chat-source ()
  "Return the buffer that `@buffer' refers to, or nil.
This is the most recently used buffer that visits a file or has text.
Chats, the daemon's log, minibuffers and special buffers are skipped."
  (seq-find (lambda (each)
              (with-current-buffer each
                (and (not jumpseat-chat-mode) (not (minibufferp))
                     (not (equal buffer-file-name (expand-file-name (jumpseat--log-file))))
                     (or buffer-file-name
                         (and (not (string-match-p "\\`[ *]" (buffer-name)))
                              (> (buffer-size) 0))))))
            (buffer-list)))

;;; The program

(defun jumpseat--local-directory ()
  "Return a local directory, even if `default-directory' is remote."
  (if (or (file-remote-p default-directory) (not (file-accessible-directory-p default-directory)))
      (expand-file-name "~/")
    default-directory))

(defun jumpseat--install-directory ()
  "Return the directory of the daemon that `jumpseat-install' installed."
  (locate-user-emacs-file "jumpseat/daemon/"))

(defun jumpseat--installed-program ()
  "Return the program of the daemon that `jumpseat-install' installed.
Return nil if there is none of this version."
  (let ((file (expand-file-name "current.json" (jumpseat--install-directory))))
    ;; The file can be absent, corrupt, or of another shape.
    (ignore-errors
      (let ((current (with-temp-buffer
                       (insert-file-contents file)
                       (json-parse-buffer :object-type 'plist))))
        (when (equal (plist-get current :key) jumpseat-version)
          (jumpseat--find-program (plist-get current :program)))))))

(defun jumpseat--find-program (name)
  "Return the path of the program NAME on this machine, or nil.
Also search common directories, which are often missing in variable `exec-path'
if Emacs was not started from a shell."
  (let ((default-directory (jumpseat--local-directory))
        (exec-path (append exec-path '("~/.local/bin" "~/.cargo/bin" "/opt/homebrew/bin"
                                       "/usr/local/bin"))))
    (executable-find name)))

(defun jumpseat--program ()
  "Return the daemon's command as a list of words, or nil if there is none."
  (or jumpseat-command
      (when-let ((found (or (jumpseat--installed-program) (jumpseat--find-program "jumpseat"))))
        (list found))))

(defun jumpseat--run-process (command done)
  "Run COMMAND, a list of words, in the background.
Call DONE with its exit code and its output, or with nil and the reason if it
could not be started."
  (let* ((default-directory (jumpseat--local-directory))
         (buffer (generate-new-buffer " *jumpseat process*"))
         (end (lambda (process _change)
                (unless (process-live-p process)
                  (let ((output (with-current-buffer buffer (string-trim (buffer-string)))))
                    (kill-buffer buffer)
                    (jumpseat--log-write "%s: %d\n%s" (string-join command " ")
                                         (process-exit-status process) output)
                    (run-at-time 0 nil done (process-exit-status process) output))))))
    (condition-case failure
        (let ((process (make-process :name "jumpseat-process" :buffer buffer :command command
                                     :noquery t :connection-type 'pipe :sentinel end)))
          ;; A program that reads its input must fail instead of waiting.  Closing
          ;; the input signals an error if the program has already ended.
          (ignore-errors (process-send-eof process)))
      (file-error
       (kill-buffer buffer)
       (run-at-time 0 nil done nil (error-message-string failure))))))

(provide 'jumpseat-core)
;;; jumpseat-core.el ends here
