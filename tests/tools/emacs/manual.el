;;; manual.el --- Formats the manual of the Emacs package  -*- lexical-binding: t; -*-
;;; Commentary:
;; `emacs --batch -Q -l manual.el SOURCE DIRECTORY' writes the Info file of SOURCE and the file `dir',
;; by which package.el adds it to Info.  Emacs formats it itself, so that texinfo is not needed.
;;; Code:
(require 'texinfmt)
(require 'texnfo-upd)

(let* ((source (expand-file-name (pop command-line-args-left)))
       (directory (file-name-as-directory (expand-file-name (pop command-line-args-left))))
       (inhibit-message t)
       (text (with-temp-buffer (insert-file-contents source) (buffer-string)))
       entry)
  (string-match "^@direntry\n\\(.*\n\\)@end direntry" text)
  (setq entry (match-string 1 text))
  (with-temp-buffer
    (setq buffer-file-name (expand-file-name "jumpseat.texi" directory))
    (insert text)
    (texinfo-mode)
    ;; Nodes need pointers to their neighbours.
    (texinfo-every-node-update)
    (texinfo-format-buffer)
    (with-current-buffer "jumpseat.info"
      ;; The first lines name the release of Emacs.
      (goto-char (point-min))
      (search-forward "\n\n")
      (delete-region (point-min) (point))
      (insert "This is jumpseat.info, the manual of jumpseat for Emacs.\n\n")
      ;; They also shift the table of nodes, which a file of this size does not need.
      (re-search-forward "\^_\f?\nTag table:\n")
      (delete-region (match-beginning 0) (point-max))
      (insert "\^_\n")
      (let ((coding-system-for-write 'utf-8-unix))
        (write-region nil nil (expand-file-name "jumpseat.info" directory) nil 'silent)))
    (set-buffer-modified-p nil)
    (setq buffer-file-name nil))
  (write-region (concat "This is the directory of Info files in this package.\n\n\^_\n"
                        "File: dir,\tNode: Top\tThe manual of jumpseat\n\n* Menu:\n\n"
                        "Emacs misc features\n" entry)
                nil (expand-file-name "dir" directory) nil 'silent))
;;; manual.el ends here
