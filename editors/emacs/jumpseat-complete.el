;;; jumpseat-complete.el --- Completion in jumpseat chats  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Completes references and prompts in questions, and keys and values in the
;; front matter.  Completion cannot wait for the daemon: items that are not
;; known yet are requested, and offered the next time.

;;; Code:

(require 'jumpseat-models)
(require 'jumpseat-references)

(defconst jumpseat-complete--keys
  '(("model" "The model, as provider:model.") ("system" "The system prompt.")
    ("tools" "The tools that the model may call, such as files.")
    ("settings" "Settings of the provider.") ("conversation" "The kept conversation."))
  "The keys of the front matter that are not settings.")

(defun jumpseat-complete--list-keys ()
  "Return the keys of the front matter, as lists of a text and a note."
  (let ((sign (jumpseat--format-property (jumpseat--format-here))))
    (append (mapcar (lambda (each) (list (concat sign (car each) ": ") (cadr each)))
                    jumpseat-complete--keys)
            ;; In Org, a setting is not a property of its own, because other
            ;; properties may belong to other programs.
            (when (string-empty-p sign)
              (mapcar (lambda (row) (list (concat (plist-get row :key) ": ")
                                          (concat (jumpseat--models-describe-values row) ". "
                                                  (plist-get row :description))))
                      (jumpseat--models-rows))))))

(defun jumpseat-complete--list-values (key)
  "Return the values that KEY can have in the front matter."
  (if (equal key "model")
      (mapcar (lambda (model) (list (plist-get model :id) (jumpseat--models-describe model)))
              (jumpseat--models-known))
    (when-let ((row (seq-find (lambda (each) (equal (plist-get each :key) key))
                              (jumpseat--models-rows))))
      (if (equal (plist-get row :type) "boolean")
          '(("true") ("false"))
        (mapcar (lambda (each) (list (format "%s" each))) (plist-get row :choices))))))

(defun jumpseat-complete--list-prompts ()
  "Return the slash words that a question can start with."
  (cons '("/model" "choose the model")
        (mapcar (lambda (each) (list (concat "/" (plist-get each :name))
                                     (or (plist-get each :description) "")))
                (jumpseat--models-known-prompts))))

(defun jumpseat-complete--build-result (beg items)
  "Return a completion of the text between BEG and point with ITEMS.
Its form is described in `completion-at-point-functions'."
  (when items
    (list beg (point) (mapcar #'car items)
          :exclusive 'no
          :annotation-function
          (lambda (text)
            (let ((note (cadr (assoc text items))))
              (if (or (null note) (string-empty-p note)) "" (concat "  " note)))))))

(defun jumpseat-complete--complete-front-matter ()
  "Complete at point in the front matter."
  (let ((end (point)))
    (save-excursion
      (beginning-of-line)
      (cond
       ((looking-at (concat "[ \t]*" (jumpseat--format-property (jumpseat--format-here))
                            "\\([A-Za-z0-9_]+\\):[ \t]+"))
        (when (>= end (match-end 0))
          (let ((beg (match-end 0))
                (items (jumpseat-complete--list-values (match-string-no-properties 1))))
            (goto-char end)
            (jumpseat-complete--build-result beg items))))
       ((looking-at "[ \t]*")
        (let ((beg (match-end 0)))
          (goto-char end)
          (when (<= beg end)
            (jumpseat-complete--build-result beg (jumpseat-complete--list-keys)))))))))

(defun jumpseat-complete--first-line-p ()
  "Whether point is in the first line of a question."
  (save-excursion
    (beginning-of-line)
    (skip-chars-backward " \t\n")
    (beginning-of-line)
    (or (bobp) (looking-at (jumpseat--transcript-heading-regexp)))))

(defun jumpseat-complete--complete-path (string predicate action)
  "Complete paths as `complete-with-action' does with PREDICATE and ACTION.
STRING may start with a quotation mark; a completion with white space gets one."
  (let* ((mark (if (string-prefix-p "\"" string) "\"" ""))
         (found (completion-file-name-table (string-remove-prefix mark string) predicate action)))
    (cond ((eq (car-safe action) 'boundaries)
           `(boundaries ,(+ (length mark) (cadr found)) . ,(cddr found)))
          ((and (null action) (stringp found))
           (concat (if (string-match-p "[ \t]" found) "\"" mark) found))
          (t found))))

(defun jumpseat-complete--quote-path (beg status)
  "Quote the path from BEG to point if it has white space.
With STATUS `exact', or after a directory, leave the quote open."
  (let ((path (buffer-substring-no-properties beg (point))))
    (when (string-match-p "\\`\"\\|[ \t]" path)
      (unless (string-prefix-p "\"" path)
        (save-excursion (goto-char beg) (insert "\"")))
      (unless (or (eq status 'exact) (string-suffix-p "/" path) (eq (char-after) ?\"))
        (insert "\"")))))

(defun jumpseat-complete--complete-file (beg)
  "Complete the path between BEG and point."
  (let ((directory default-directory))
    (list beg (point)
          (lambda (string predicate action)
            (let ((default-directory directory))
              (jumpseat-complete--complete-path string predicate action)))
          :exclusive 'no
          :exit-function (lambda (_path status) (jumpseat-complete--quote-path beg status)))))

(defun jumpseat-complete--complete-word ()
  "Complete a reference or a prompt at point."
  (let ((beg (save-excursion (skip-chars-backward "^ \t\n") (point))))
    (cond
     ((save-excursion
        (re-search-backward "\\(?:^\\|[ \t]\\)@file:\\(\"[^\"\n]*\\|[^\" \t\n][^ \t\n]*\\|\\)\\="
                            (line-beginning-position) t))
      (jumpseat-complete--complete-file (match-beginning 1)))
     ((eq (char-after beg) ?@)
      (jumpseat-complete--build-result beg (mapcar #'list jumpseat--references-words)))
     ((and (eq (char-after beg) ?/) (= beg (line-beginning-position))
           (jumpseat-complete--first-line-p))
      (jumpseat-complete--build-result beg (jumpseat-complete--list-prompts))))))

(defun jumpseat--complete-at-point ()
  "Complete words in questions, and the front matter of a chat."
  (if (and (< (point) (jumpseat--transcript-front-matter-end)) (> (line-number-at-pos) 1))
      (jumpseat-complete--complete-front-matter)
    (jumpseat-complete--complete-word)))

(provide 'jumpseat-complete)
;;; jumpseat-complete.el ends here
