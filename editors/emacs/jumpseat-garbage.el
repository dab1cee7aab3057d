;;; jumpseat-garbage.el --- Defer garbage collection during answers  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A garbage collection blocks Emacs for longer than a frame: redisplay and
;; typing stall.  While requests to the daemon are pending, a higher
;; `gc-cons-threshold' defers collections.  It is reset when the user is idle
;; afterwards; Emacs then collects immediately if a collection is due.

;;; Code:

(require 'jumpseat-core)

(defconst jumpseat-garbage--seconds 2
  "How long to wait after the last answer, and again for the user to be idle.")

(defvar jumpseat-garbage--raised nil
  "A cons of the threshold set here and the previous one, or nil.")
(defvar jumpseat-garbage--timer nil "The timer that resets the threshold.")

;; Set the default toplevel value: another package may have bound the threshold
;; with `let' while timers run, and a value that is set inside such a binding is
;; lost at its end.

(defun jumpseat--garbage-defer ()
  "Defer garbage collections, up to `jumpseat-garbage-limit'.
Do not lower a higher threshold."
  (when jumpseat-garbage--timer
    (cancel-timer jumpseat-garbage--timer)
    (setq jumpseat-garbage--timer nil))
  (let ((now (default-toplevel-value 'gc-cons-threshold)))
    (when (and jumpseat-garbage-limit (< now jumpseat-garbage-limit))
      (setq jumpseat-garbage--raised
            (cons jumpseat-garbage-limit
                  (if (eql now (car jumpseat-garbage--raised)) (cdr jumpseat-garbage--raised) now)))
      (set-default-toplevel-value 'gc-cons-threshold jumpseat-garbage-limit))))

(defun jumpseat--garbage-resume ()
  "Reset the threshold once the user is idle, after a delay."
  (when (and jumpseat-garbage--raised (null jumpseat-garbage--timer))
    (setq jumpseat-garbage--timer
          (run-at-time jumpseat-garbage--seconds nil #'jumpseat-garbage--wait))))

(defun jumpseat-garbage--wait ()
  "Reset the threshold once the user is idle."
  (setq jumpseat-garbage--timer
        (run-with-idle-timer jumpseat-garbage--seconds nil #'jumpseat-garbage--restore)))

(defun jumpseat-garbage--restore ()
  "Reset the threshold, unless something else has set it since."
  (let ((raised jumpseat-garbage--raised))
    (setq jumpseat-garbage--timer nil
          jumpseat-garbage--raised nil)
    (when (eql (car raised) (default-toplevel-value 'gc-cons-threshold))
      (set-default-toplevel-value 'gc-cons-threshold (cdr raised)))))

(provide 'jumpseat-garbage)
;;; jumpseat-garbage.el ends here
