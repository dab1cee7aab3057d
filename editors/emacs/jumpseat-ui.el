;;; jumpseat-ui.el --- Prompts and windows of jumpseat  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Choices in the minibuffer, which wait until it is free, and small windows.

;;; Code:

(require 'jumpseat-core)

(defun jumpseat--ui-call-when-free (function &rest arguments)
  "Call FUNCTION with ARGUMENTS when no minibuffer is in use.
FUNCTION may use the minibuffer, and must not interrupt other input there."
  (if (active-minibuffer-window)
      (let ((hook nil))
        (setq hook (lambda ()
                     (remove-hook 'minibuffer-exit-hook hook)
                     (run-at-time 0 nil #'apply #'jumpseat--ui-call-when-free function arguments)))
        (add-hook 'minibuffer-exit-hook hook))
    ;; Quitting is inhibited in timers, so allow it here.
    (let ((inhibit-quit nil))
      (condition-case nil
          (apply function arguments)
        (quit nil)))))

(defun jumpseat-ui--make-table (items category)
  "Return a completion table of ITEMS with CATEGORY; see `jumpseat--ui-choose'."
  (let ((annotate (lambda (name)
                    (let ((note (nth 2 (assoc name items))))
                      (if (or (null note) (string-empty-p note)) "" (concat "  " note))))))
    (lambda (string predicate action)
      (if (eq action 'metadata)
          `(metadata (category . ,category) (annotation-function . ,annotate)
                     (display-sort-function . identity) (cycle-sort-function . identity))
        (complete-with-action action items string predicate)))))

(defun jumpseat-ui--bind-literal-keys (items)
  "Let space and question mark insert themselves if names of ITEMS contain them.
By default, a minibuffer with completion binds these keys to other commands."
  (let ((map (make-sparse-keymap)))
    (dolist (character '(" " "?"))
      (when (seq-some (lambda (item) (string-search character (car item))) items)
        (define-key map character #'self-insert-command)))
    (use-local-map (make-composed-keymap map (current-local-map)))))

(defun jumpseat-ui--read (prompt items category)
  "Read the name of one of ITEMS at PROMPT, and return its value or nil.
CATEGORY is as for `jumpseat--ui-choose'."
  (let ((name (minibuffer-with-setup-hook (lambda () (jumpseat-ui--bind-literal-keys items))
                (completing-read (concat prompt ": ") (jumpseat-ui--make-table items category) nil t))))
    (nth 1 (assoc name items))))

(defun jumpseat--ui-choose (prompt items category callback)
  "Let the user choose one of ITEMS when the minibuffer is free.
ITEMS are lists of a name, a value and a note.  CATEGORY is a symbol by which
other packages recognize the kind of the items.  PROMPT is shown before the
input.  Call CALLBACK with the value, unless the user chose nothing."
  (jumpseat--ui-call-when-free
   (lambda ()
     (when-let ((value (jumpseat-ui--read prompt items category)))
       (funcall callback value)))))

(defun jumpseat--ui-offer (prompt actions callback)
  "Let the user choose one of ACTIONS, and call CALLBACK with its value.
Show the names of ACTIONS after PROMPT, because Emacs lists them only on
request."
  (jumpseat--ui-choose (format "%s (%s)" prompt (mapconcat #'car actions ", "))
                       actions 'jumpseat-action callback))

(defun jumpseat--ui-describe-value (label value)
  "Return the text of a menu's item with LABEL, whose VALUE may be nil."
  (concat label " " (propertize (truncate-string-to-width
                                 (if (string-empty-p (or value "")) "default" value) 40 nil nil "…")
                                'face 'transient-value)))

(define-derived-mode jumpseat-ui-mode special-mode "jumpseat"
  "The mode of windows with information about jumpseat."
  :interactive nil
  (visual-line-mode))

(defun jumpseat--ui-show (name lines &optional refresh)
  "Show LINES in the buffer NAME, and return it.
REFRESH is called by \\`g' to show them again."
  (with-current-buffer (get-buffer-create name)
    (unless (derived-mode-p 'jumpseat-ui-mode) (jumpseat-ui-mode))
    (when refresh
      (setq-local revert-buffer-function (lambda (&rest _) (funcall refresh))))
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert (string-join lines "\n") "\n")
      (goto-char (point-min)))
    (unless (get-buffer-window nil t) (pop-to-buffer (current-buffer)))
    (current-buffer)))

(provide 'jumpseat-ui)
;;; jumpseat-ui.el ends here
