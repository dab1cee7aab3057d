;;; jumpseat-compare.el --- Compare a rewrite with the old text  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Shows a finished rewrite as a difference, in Ediff, or as conflicts for
;; Smerge mode.

;;; Code:

(require 'ediff)
(require 'smerge-mode)
(require 'jumpseat-edit)

(defun jumpseat-compare--make-buffer (edit)
  "Return a copy of this buffer in which EDIT is accepted."
  (let* ((beg (jumpseat--edit-start edit))
         (end (jumpseat--edit-end edit))
         (source (current-buffer))
         (mode major-mode)
         (default-directory (jumpseat--local-directory))
         (new (get-buffer-create (format "*jumpseat rewrite: %s*" (buffer-name)))))
    (with-current-buffer new
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert-buffer-substring-no-properties source)
        (delete-region beg end)
        (goto-char beg)
        (insert (substring-no-properties (jumpseat--edit-replacement edit)))
        (delay-mode-hooks (funcall mode))
        (setq buffer-read-only t)))
    new))

(defun jumpseat--compare-diff (edit)
  "Show the difference that accepting EDIT would make to this buffer."
  (let ((new (save-restriction
               (widen)
               (jumpseat-compare--make-buffer edit))))
    (if (executable-find "diff")
        (diff-buffers (current-buffer) new nil t)
      (display-buffer new))))

(defun jumpseat--compare-ediff (edit done)
  "Compare this buffer in Ediff with a copy in which EDIT is accepted.
Call DONE in this buffer when the user quits Ediff."
  (widen)
  (let ((source (current-buffer))
        (new (jumpseat-compare--make-buffer edit))
        (windows (current-window-configuration)))
    (ediff-buffers
     source new
     (list (lambda ()
             (add-hook 'ediff-quit-hook
                       (lambda ()
                         (kill-buffer new)
                         (set-window-configuration windows)
                         (when (buffer-live-p source)
                           (with-current-buffer source (funcall done))))
                       90 t))))))

(defun jumpseat-compare--format-conflicts (old new)
  "Return OLD with a conflict in place of each hunk that differs in NEW."
  (let ((at 0) parts)
    (pcase-dolist (`(,old-beg ,old-end ,new-beg ,new-end) (jumpseat--hunks-compute old new))
      (push (substring old at old-beg) parts)
      (push (concat "<<<<<<< current\n" (substring old old-beg old-end) "=======\n"
                    (substring new new-beg new-end) ">>>>>>> rewrite\n")
            parts)
      (setq at old-end))
    (apply #'concat (nreverse (cons (substring old at) parts)))))

(defun jumpseat--compare-merge (edit)
  "Replace the text of EDIT with conflicts in one undo step, for Smerge mode."
  (save-restriction
    (widen)
    (let* ((start (jumpseat--edit-start edit))
           (end (jumpseat--edit-end edit))
           ;; Conflicts consist of whole lines.
           (lines-start (save-excursion (goto-char start) (line-beginning-position)))
           (lines-end (save-excursion
                        (goto-char end)
                        (if (and (bolp) (> end lines-start)) end
                          (min (point-max) (1+ (line-end-position))))))
           (make (lambda (text)
                   (let ((whole (concat (buffer-substring-no-properties lines-start start) text
                                        (buffer-substring-no-properties end lines-end))))
                     (if (string-match-p "[^\n]\\'" whole) (concat whole "\n") whole)))))
      (jumpseat--edit-replace
       lines-start lines-end
       (jumpseat-compare--format-conflicts
        (funcall make (buffer-substring-no-properties start end))
        (funcall make (substring-no-properties (jumpseat--edit-replacement edit)))))
      (goto-char lines-start)))
  (smerge-mode 1)
  ;; Point may be at the first conflict already.
  (unless (looking-at-p "<<<<<<< ") (ignore-errors (smerge-next))))

(provide 'jumpseat-compare)
;;; jumpseat-compare.el ends here
