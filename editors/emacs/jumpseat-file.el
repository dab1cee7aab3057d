;;; jumpseat-file.el --- Chats in files  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Saved chats are recognised however they are visited, opened and saved.  What recognises them is
;; copied into the autoloads, so that visiting other files does not load the package.

;;; Code:

(require 'jumpseat-chat)

;;;###autoload
(progn
  (defvar-local jumpseat-file-is-chat nil
    "Whether this buffer was made a chat, whatever its text looks like.")
  (put 'jumpseat-file-is-chat 'permanent-local t)

  (defun jumpseat-file-p ()
    "Whether this buffer was made a chat, or has the text of a saved one.
That is front matter with a conversation or a model, and a heading, or a heading
in a file in `jumpseat-directory'."
    (or jumpseat-file-is-chat
        (save-excursion
          (save-restriction
            (widen)
            (goto-char (point-min))
            (let ((case-fold-search nil))
              (if (looking-at "---\n")
                  (let ((end (re-search-forward "^---$" (min (point-max) 100000) t 2)))
                    (and end
                         (looking-at "\n+## ")
                         (goto-char (point-min))
                         (re-search-forward
                          "^\\(?:conversation: *[^ \n]\\|model: *[\"']?[^ :\n]+:[^ \n]\\)" end t)
                         t))
                (and (looking-at "## ")
                     buffer-file-name
                     (not (file-remote-p buffer-file-name))
                     (file-in-directory-p buffer-file-name jumpseat-directory))))))))

  ;; A model may have written the local variables in a chat.  The mode that they name would be chosen
  ;; before `magic-mode-alist' is consulted, and what a hook sets is reset by `normal-mode'.
  (advice-add 'inhibit-local-variables-p :before-until #'jumpseat-file-p)
  (add-to-list 'magic-mode-alist '(jumpseat-file-p . jumpseat-file-mode))
  ;; Text is decoded before a buffer can be looked at, by a "coding:" among the local variables.
  (add-to-list 'auto-coding-regexp-alist
               (cons (concat "\\`---\n\\(?:.+\n\\)\\{0,20\\}\\(?:conversation\\|model\\): .+\n"
                             "\\(?:.+\n\\)\\{0,20\\}---\n\n*## ")
                     'utf-8)))

(defun jumpseat-file--note ()
  "Note whether this buffer is a chat, also after a change of its major mode."
  (setq jumpseat-file-is-chat jumpseat-chat-mode))

(add-hook 'jumpseat-chat-mode-hook #'jumpseat-file--note)

(defun jumpseat-file-mode ()
  "Make a chat of this buffer, which visits a saved one."
  (jumpseat-chat-text-mode)
  (jumpseat-chat-mode)
  (let ((buffer (current-buffer)))
    (jumpseat-transcript-headings
     (jumpseat-transcript-model)
     (lambda (&rest _)
       (when (buffer-live-p buffer)
         (with-current-buffer buffer (font-lock-flush)))))))

(defun jumpseat-open (file)
  "Open the chat that was saved in FILE."
  (interactive
   (list (read-file-name "Chat: " (file-name-as-directory (expand-file-name jumpseat-directory)))))
  ;; Also of a file that is not recognised.
  (let ((buffer (let ((enable-local-variables nil)) (find-file-noselect file))))
    (with-current-buffer buffer
      (unless jumpseat-chat-mode
        (setq jumpseat-file-is-chat t)
        (jumpseat-file-mode)))
    (jumpseat-chat-show buffer)))

(defun jumpseat-save ()
  "Save this chat; a new one in `jumpseat-directory', under a name of its own."
  (interactive)
  (if buffer-file-name
      (save-buffer)
    (let ((directory (file-name-as-directory (expand-file-name jumpseat-directory)))
          ;; Another mode would end that of the chat.
          (change-major-mode-with-file-name nil)
          (name (format-time-string "%Y-%m-%d-%H%M%S.md")))
      (make-directory directory t)
      (write-file (read-file-name (format-prompt "Save the chat as" name) directory
                                  (expand-file-name name directory))
                  t))))

(provide 'jumpseat-file)
;;; jumpseat-file.el ends here
