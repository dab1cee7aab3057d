;;; ask.el --- Install the daemon and ask the local model  -*- lexical-binding: t; -*-

;;; Commentary:

;; For `emacs --batch' with the installed package: it takes the steps that a new
;; user takes, and prints the installer's last line and the chat.

;;; Code:

(defvar ask-said nil "What the package has said, newest first.")
(defvar ask-ended nil "Whether the current turn has ended.")

(defun ask-wait (holds seconds)
  "Wait until the function HOLDS returns a value, for at most SECONDS, and return it."
  (let ((end (+ (float-time) seconds))
        (value nil))
    (while (not (setq value (funcall holds)))
      (when (> (float-time) end)
        (error "Timed out: %S" ask-said))
      (accept-process-output nil 0.05))
    value))

(defun ask-wait-for (pattern)
  "Wait until the package has said something that matches PATTERN, and return it."
  (ask-wait (lambda () (seq-find (lambda (each) (string-match-p pattern each)) ask-said)) 300))

(defun ask-send (question)
  "Send QUESTION in the current chat and wait for the end of the turn."
  (setq ask-ended nil)
  (goto-char (point-max))
  (insert question)
  (jumpseat-send)
  (ask-wait (lambda () ask-ended) 120))

(defun ask-in-an-empty-home (question)
  "Install the daemon and the model, and print the chat with QUESTION."
  (advice-add 'jumpseat--say :before (lambda (&rest words) (push (apply #'format words) ask-said)))
  (call-interactively #'jumpseat-install)
  (princ (concat (ask-wait-for "is installed\\.\\'\\|failed") "\n"))
  (add-hook 'jumpseat-turn-ended-functions (lambda (&rest _) (setq ask-ended t)))
  (jumpseat)
  ;; Without a provider, the package offers the local model.
  (let ((completing-read-function (lambda (&rest _) "Install the local model")))
    (ask-send question)
    (ask-wait-for "The local model is installed\\|was not installed"))
  (ask-send "")
  (princ (buffer-substring-no-properties (point-min) (point-max))))

;;; ask.el ends here
