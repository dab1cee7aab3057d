;;; units.el --- What the unit tests of the Emacs package share  -*- lexical-binding: t; -*-
;;; Commentary:
;; The files units-*.el test what needs no daemon; the other tests are in Python, with a real terminal
;; and a real daemon:
;; `emacs --batch -Q -L editors/emacs -L . -l units-text -f ert-run-tests-batch-and-exit'.
;;; Code:
(require 'ert)
(require 'jumpseat)

(defmacro units-with (text &rest body)
  "Run BODY in a buffer with TEXT, with undo."
  (declare (indent 1))
  `(with-temp-buffer
     (setq buffer-undo-list nil)
     (insert ,text)
     ,@body))

(provide 'units)
;;; units.el ends here
