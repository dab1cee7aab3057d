;;; jumpseat-file.el --- Open and save chats  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Opens and saves chats, and recognizes saved chats whenever they are visited.
;; The code that recognizes them is copied into the autoloads, so that visiting
;; other files does not load the package.

;;; Code:

(require 'jumpseat-chat)

;;;###autoload
(progn
  (defvar-local jumpseat--file-is-chat nil
    "Whether this buffer was made a chat, regardless of its text.")
  (put 'jumpseat--file-is-chat 'permanent-local t)

  (defun jumpseat--file-p ()
    "Whether this buffer was made a chat, or has the text of a saved chat.
The text of a saved chat starts with front matter that names a conversation or a
model, followed by a heading.  In `jumpseat-directory', a heading is enough."
    (or jumpseat--file-is-chat
        (save-excursion
          (save-restriction
            (widen)
            (goto-char (point-min))
            (let* ((case-fold-search nil)
                   (org (not (looking-at "---\n\\|## ")))
                   ;; Org allows comments and keywords around the properties.
                   (skip (lambda ()
                           (while (and org (not (eobp)) (< (point) 100000)
                                       (looking-at "[ \t]*\\(?:#\\(?:\\(?:\\+[^ \t\n:]+:\\|[ \t]\\).*\\)?\\)?$"))
                             (forward-line)))))
              (funcall skip)
              (if (looking-at (if org ":PROPERTIES:\n" "---\n"))
                  (let* ((start (point))
                         (end (progn
                                (forward-line)
                                (re-search-forward (if org "^:END:$" "^---$")
                                                   (min (point-max) 100000) t))))
                    (and end
                         (progn (funcall skip) (looking-at (if org "\\* " "\n+## ")))
                         (goto-char start)
                         (re-search-forward
                          (concat "^" (if org ":" "") "\\(?:conversation: *[^ \n]\\|"
                                  "model: *[\"']?[^ :\n]+:[^ \n]\\)")
                          end t)
                         t))
                (and (looking-at (if org "\\* " "## "))
                     buffer-file-name
                     (not (file-remote-p buffer-file-name))
                     (file-in-directory-p buffer-file-name jumpseat-directory))))))))

  ;; Ignore local variables in a chat, because the model may have written them,
  ;; and because a mode that they name would be chosen before `magic-mode-alist'
  ;; is consulted.  Setting `enable-local-variables' in a hook would not help,
  ;; because `normal-mode' resets it.
  (advice-add 'inhibit-local-variables-p :before-until #'jumpseat--file-p)
  (add-to-list 'magic-mode-alist '(jumpseat--file-p . jumpseat--file-mode))
  ;; Emacs decodes the text before `jumpseat--file-p' can examine it.  Without
  ;; this rule, a "coding:" in the text would select the coding system.
  (let ((values (concat "\n\\(?:.+\n\\)\\{0,20\\}:?\\(?:conversation\\|model\\): .+\n"
                        "\\(?:.+\n\\)\\{0,20\\}"))
        (aside "\\(?:#.*\n\\|\n\\)\\{0,20\\}"))
    (dolist (text (list (concat "\\`---" values "---\n\n*## ")
                        (concat "\\`" aside ":PROPERTIES:" values ":END:\n" aside "\\* ")))
      (add-to-list 'auto-coding-regexp-alist (cons text 'utf-8)))))

(defun jumpseat-file--record ()
  "Record whether this buffer is a chat.
The record survives a change of the major mode."
  (setq jumpseat--file-is-chat jumpseat-chat-mode))

(add-hook 'jumpseat-chat-mode-hook #'jumpseat-file--record)

(defun jumpseat--file-mode ()
  "Make this buffer, which visits a saved chat, a chat."
  (jumpseat--chat-text-mode (jumpseat--format-of-file))
  (jumpseat-chat-mode)
  (let ((buffer (current-buffer)))
    (jumpseat--transcript-fetch-headings
     (jumpseat--transcript-model)
     (lambda (&rest _)
       (when (buffer-live-p buffer)
         (with-current-buffer buffer (font-lock-flush)))))))

(defun jumpseat-open (file)
  "Open the chat that was saved in FILE."
  (interactive
   (list (read-file-name "Chat: " (file-name-as-directory (expand-file-name jumpseat-directory)))))
  ;; Ignore local variables even if the file is not recognized as a chat.
  (let ((buffer (let ((enable-local-variables nil)) (find-file-noselect file))))
    (with-current-buffer buffer
      (unless jumpseat-chat-mode
        (setq jumpseat--file-is-chat t)
        (jumpseat--file-mode)))
    (jumpseat--chat-show buffer)))

(defun jumpseat-save ()
  "Save this chat.
For a new chat, read a file name; the default is in `jumpseat-directory'."
  (interactive)
  (if buffer-file-name
      (save-buffer)
    (let ((directory (file-name-as-directory (expand-file-name jumpseat-directory)))
          ;; Choosing another major mode by the file name would turn off the
          ;; mode of chats.
          (change-major-mode-with-file-name nil)
          (name (concat (format-time-string "%Y-%m-%d-%H%M%S")
                        (jumpseat--format-suffix (jumpseat--format-here)))))
      (make-directory directory t)
      (write-file (read-file-name (format-prompt "Save the chat as" name) directory
                                  (expand-file-name name directory))
                  t))))

(provide 'jumpseat-file)
;;; jumpseat-file.el ends here
