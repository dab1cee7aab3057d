;;; jumpseat-inbox.el --- Handle the daemon's messages in order  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A timer, instead of the process filter, handles the daemon's messages in
;; order.  With jsonrpc.el of Emacs 28, an error in the filter would delay all
;; later messages, and so would a question in the minibuffer.

;;; Code:

(require 'cl-lib)
(require 'jumpseat-core)

(defvar jumpseat-inbox--listeners nil "An alist of methods and functions; see `jumpseat--inbox-on'.")
(defvar jumpseat-inbox--calls nil "The queued callbacks, in order.")
(defvar jumpseat-inbox--timer nil "The timer for the queued callbacks.")

(defun jumpseat-inbox--drain ()
  "Run the queued callbacks; an error in one does not stop the others."
  (setq jumpseat-inbox--timer nil)
  (while jumpseat-inbox--calls
    (let ((call (pop jumpseat-inbox--calls)))
      ;; Run the others even if this one is in a long recursive edit.
      (when jumpseat-inbox--calls
        (jumpseat-inbox--schedule))
      (condition-case failure
          (apply (car call) (cdr call))
        (quit nil)
        ((debug error)
         (jumpseat--say "Internal error: %s" (error-message-string failure)))))))

(defun jumpseat-inbox--schedule ()
  "Start the timer for the queued callbacks, unless it is already running."
  (unless jumpseat-inbox--timer
    (setq jumpseat-inbox--timer (run-at-time 0 nil #'jumpseat-inbox--drain))))

(defun jumpseat--inbox-add (function &rest arguments)
  "Queue FUNCTION to be called with ARGUMENTS after all queued callbacks."
  (setq jumpseat-inbox--calls (nconc jumpseat-inbox--calls (list (cons function arguments))))
  (jumpseat-inbox--schedule))

(defun jumpseat--inbox-on (method listener)
  "Call LISTENER with the params of each notification METHOD, a symbol.
METHOD can also be an event of the connection: `ready', with the answer to
`initialize' as params, or `end', with the error, when the connection has ended
or could not be set up."
  (cl-pushnew listener (alist-get method jumpseat-inbox--listeners) :test #'equal))

(defun jumpseat--inbox-emit (method params)
  "Call the listeners of METHOD with PARAMS."
  (dolist (listener (alist-get method jumpseat-inbox--listeners))
    (funcall listener params)))

(provide 'jumpseat-inbox)
;;; jumpseat-inbox.el ends here
