;;; jumpseat-garbage.el --- No garbage collection while answers come  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A garbage collection holds up Emacs for longer than a frame: redisplay and typing stall.  While the
;; daemon has requests to answer, a higher `gc-cons-threshold' defers collections.  It is set back
;; when the user is idle afterwards; Emacs then collects at once if a collection is due.

;;; Code:

(require 'jumpseat-core)

(defconst jumpseat-garbage--seconds 2
  "How long after the last answer, and how idle, Emacs must be to collect.")

(defvar jumpseat-garbage--raised nil
  "The threshold that was set here and the one before, a cons; or nil.")
(defvar jumpseat-garbage--timer nil "The timer that sets the threshold back.")

;; Another package may have bound the threshold by `let' while timers run.  A value that is set within
;; such a binding is lost at its end; hence the default toplevel value.

(defun jumpseat-garbage-defer ()
  "Defer garbage collections, up to `jumpseat-garbage-limit'.
A threshold that is higher stays."
  (when jumpseat-garbage--timer
    (cancel-timer jumpseat-garbage--timer)
    (setq jumpseat-garbage--timer nil))
  (let ((now (default-toplevel-value 'gc-cons-threshold)))
    (when (and jumpseat-garbage-limit (< now jumpseat-garbage-limit))
      (setq jumpseat-garbage--raised
            (cons jumpseat-garbage-limit
                  (if (eql now (car jumpseat-garbage--raised)) (cdr jumpseat-garbage--raised) now)))
      (set-default-toplevel-value 'gc-cons-threshold jumpseat-garbage-limit))))

(defun jumpseat-garbage-resume ()
  "Let Emacs collect garbage as before, once the user is idle."
  (when (and jumpseat-garbage--raised (null jumpseat-garbage--timer))
    (setq jumpseat-garbage--timer
          (run-at-time jumpseat-garbage--seconds nil #'jumpseat-garbage--wait))))

(defun jumpseat-garbage--wait ()
  "Set the threshold back once the user is idle."
  (setq jumpseat-garbage--timer
        (run-with-idle-timer jumpseat-garbage--seconds nil #'jumpseat-garbage--restore)))

(defun jumpseat-garbage--restore ()
  "Set the threshold back, unless something else has set it since."
  (let ((raised jumpseat-garbage--raised))
    (setq jumpseat-garbage--timer nil
          jumpseat-garbage--raised nil)
    (when (eql (car raised) (default-toplevel-value 'gc-cons-threshold))
      (set-default-toplevel-value 'gc-cons-threshold (cdr raised)))))

(provide 'jumpseat-garbage)
;;; jumpseat-garbage.el ends here
