;;; jumpseat-region.el --- Pieces of buffers as the daemon wants them  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Context blocks: a text with its file, language and range, counted as LSP counts.

;;; Code:

(require 'seq)
(require 'url-util)

(defun jumpseat-region--position (position)
  "POSITION of this buffer as LSP counts: lines from 0, and units of UTF-16."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char position)
      (let ((before (buffer-substring-no-properties (line-beginning-position) position)))
        (list :line (1- (line-number-at-pos position t))
              ;; A character beyond the first plane has two units.
              :character (+ (length before)
                            (seq-count (lambda (char) (> char #xFFFF)) before)))))))

(defun jumpseat-region-uri (file)
  "The URI of FILE, or nil for nil.
That of a file on another machine names the machine: it has no path on this one."
  (when file
    (let* ((path (expand-file-name file))
           (machine (when (file-remote-p path)
                      (concat (file-remote-p path 'method) "://"
                              (mapconcat #'url-hexify-string
                                         (delq nil (list (file-remote-p path 'user)
                                                         (file-remote-p path 'host)))
                                         "@"))))
           (local (file-local-name path)))
      (concat (or machine "file://") (unless (string-prefix-p "/" local) "/")
              (url-hexify-string local url-path-allowed-chars)))))

(defconst jumpseat-region--languages
  '(("js" . "javascript") ("js2" . "javascript") ("sh" . "shellscript") ("bash" . "shellscript")
    ("c++" . "cpp") ("emacs-lisp" . "elisp") ("lisp-interaction" . "elisp") ("tsx" . "typescriptreact")
    ("gfm" . "markdown") ("conf-toml" . "toml") ("js-json" . "json") ("mhtml" . "html")
    ("latex" . "latex") ("LaTeX" . "latex") ("cperl" . "perl") ("nxml" . "xml"))
  "Names of languages that differ from those of the major modes.")

(defun jumpseat-region-language (mode)
  "The name of the language of the major MODE, or nil for plain text."
  (let ((name (replace-regexp-in-string "\\(?:-ts\\)?-mode\\'" "" (symbol-name mode))))
    (unless (member name '("text" "fundamental"))
      (or (cdr (assoc name jumpseat-region--languages)) name))))

(defconst jumpseat-region--rectangle
  "A rectangle cannot be used: \\[rectangle-mark-mode] makes it an ordinary region"
  "What to do with a rectangle, for `substitute-command-keys'.")

(defun jumpseat-region-active ()
  "The bounds of the active region, a list of two positions, or nil.
Signals a `user-error' if it is a rectangle."
  (when (use-region-p)
    (when (bound-and-true-p rectangle-mark-mode)
      (user-error "%s" (substitute-command-keys jumpseat-region--rectangle)))
    (list (region-beginning) (region-end))))

(defun jumpseat-region-block (beg end)
  "The context block of the text from BEG to END of this buffer."
  (save-restriction
    (widen)
    (list :type "context"
          :text (buffer-substring-no-properties beg end)
          :uri (jumpseat-region-uri buffer-file-name)
          :languageId (jumpseat-region-language major-mode)
          :range (list :start (jumpseat-region--position beg)
                       :end (jumpseat-region--position end)))))

(provide 'jumpseat-region)
;;; jumpseat-region.el ends here
