;;; jumpseat-region.el --- Regions as context blocks  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Context blocks: text with its file, language and range in LSP's units.

;;; Code:

(require 'seq)
(require 'url-util)

(defun jumpseat-region--to-position (position)
  "Convert POSITION to LSP's units: lines from 0, and UTF-16 code units."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char position)
      (let ((before (buffer-substring-no-properties (line-beginning-position) position)))
        (list :line (1- (line-number-at-pos position t))
              ;; A character outside the BMP has two code units.
              :character (+ (length before)
                            (seq-count (lambda (char) (> char #xFFFF)) before)))))))

(defun jumpseat--region-find (position)
  "Return the position in this buffer of POSITION, which is in LSP's units."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (point-min))
      (forward-line (plist-get position :line))
      (let ((units (plist-get position :character)))
        (while (and (> units 0) (not (eolp)))
          (setq units (- units (if (> (char-after) #xFFFF) 2 1)))
          (forward-char)))
      (point))))

(defun jumpseat--region-uri (file)
  "Return the URI of FILE, or nil if FILE is nil.
A remote file's URI names its machine, because the file has no local path."
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

(defun jumpseat--region-file (uri)
  "Return the path of the local file that URI names, or nil."
  (when (string-match "\\`file://\\(/.*\\)\\'" uri)
    (let ((path (decode-coding-string (url-unhex-string (match-string 1 uri)) 'utf-8)))
      ;; On Windows, file:///c:/x names the path c:/x.
      (if (string-match-p "\\`/[A-Za-z]:" path) (substring path 1) path))))

(defconst jumpseat-region--languages
  '(("js" . "javascript") ("js2" . "javascript") ("sh" . "shellscript") ("bash" . "shellscript")
    ("c++" . "cpp") ("emacs-lisp" . "elisp") ("lisp-interaction" . "elisp") ("tsx" . "typescriptreact")
    ("gfm" . "markdown") ("conf-toml" . "toml") ("js-json" . "json") ("mhtml" . "html")
    ("latex" . "latex") ("LaTeX" . "latex") ("cperl" . "perl") ("nxml" . "xml"))
  "Names of languages that differ from the names of their major modes.")

(defun jumpseat--region-language (mode)
  "Return the name of the language of the major MODE, or nil for plain text."
  (let ((name (replace-regexp-in-string "\\(?:-ts\\)?-mode\\'" "" (symbol-name mode))))
    (unless (member name '("text" "fundamental"))
      (or (cdr (assoc name jumpseat-region--languages)) name))))

(defconst jumpseat-region--rectangle
  "A rectangle cannot be used: \\[rectangle-mark-mode] makes it an ordinary region"
  "The error for a rectangle, in the format of `substitute-command-keys'.")

(defun jumpseat--region-active ()
  "Return the bounds of the active region as a list, or nil if there is none.
Signal a `user-error' if the region is a rectangle."
  (when (use-region-p)
    (when (bound-and-true-p rectangle-mark-mode)
      (user-error "%s" (substitute-command-keys jumpseat-region--rectangle)))
    (list (region-beginning) (region-end))))

(defun jumpseat--region-block (beg end)
  "Return the context block for the text from BEG to END of this buffer."
  (save-restriction
    (widen)
    (list :type "context"
          :text (buffer-substring-no-properties beg end)
          :uri (jumpseat--region-uri buffer-file-name)
          :languageId (jumpseat--region-language major-mode)
          :range (list :start (jumpseat-region--to-position beg)
                       :end (jumpseat-region--to-position end)))))

(provide 'jumpseat-region)
;;; jumpseat-region.el ends here
