;;; lint.el --- Checks the form of the Emacs package  -*- lexical-binding: t; -*-
;;; Commentary:
;; `emacs --batch -Q -L editors/emacs -l lint.el FILES': checkdoc, and package-lint where it is
;; installed.  The exit code is 1 if one of them finds something.
;;; Code:
(require 'checkdoc)
(require 'seq)

(defvar lint-found nil "Whether something was found.")

(dolist (name '("package-lint" "let-alist"))
  (dolist (directory (file-expand-wildcards
                      (format "/usr/share/emacs/site-lisp/elpa-src/%s-*" name)))
    (push directory load-path)))

(defun lint-say (file line text)
  "Report TEXT at LINE of FILE."
  (setq lint-found t)
  (message "%s:%s: %s" file line text))

(defun lint-checkdoc (file)
  "Run checkdoc on FILE."
  (let ((checkdoc-create-error-function
         (lambda (text start &rest _)
           (lint-say file (if start (line-number-at-pos start) 1) text)
           nil))
        (checkdoc-spellcheck-documentation-flag nil)
        ;; In this package, one blank is enough after a sentence.
        (sentence-end-double-space nil))
    (with-current-buffer (find-file-noselect file)
      (checkdoc-current-buffer t))))

(defun lint-package (file main)
  "Run package-lint on FILE of the package whose main file is MAIN."
  (with-current-buffer (find-file-noselect file)
    (setq-local package-lint-main-file main)
    (dolist (each (package-lint-buffer))
      ;; Debian's package-lint is older than Emacs 28.
      (unless (string-match-p "uninstallable in all released" (nth 3 each))
        (lint-say file (nth 0 each) (nth 3 each))))))

(let* ((files (mapcar #'expand-file-name command-line-args-left))
       (main (seq-find (lambda (file) (string-suffix-p "/jumpseat.el" file)) files)))
  (setq command-line-args-left nil)
  (mapc #'lint-checkdoc files)
  (if (require 'package-lint nil t)
      (dolist (file files) (lint-package file main))
    (message "package-lint is not installed: its checks are left out.")))

(kill-emacs (if lint-found 1 0))
;;; lint.el ends here
