;;; units.el --- Helpers of the unit tests of the Emacs package  -*- lexical-binding: t; -*-
;;; Commentary:
;; The files units-*.el contain the tests that do not need a daemon.  Run one of these files with
;; `emacs --batch -Q -L editors/emacs -L . -l units-text -f ert-run-tests-batch-and-exit'.
;; The other tests are in Python.  They use a real terminal and a real daemon.
;;; Code:
(require 'ert)
(require 'jumpseat)

(defmacro units-with (text &rest body)
  "Run BODY in a buffer that contains TEXT and records undo."
  (declare (indent 1))
  `(with-temp-buffer
     (setq buffer-undo-list nil)
     (insert ,text)
     ,@body))

(provide 'units)
;;; units.el ends here
