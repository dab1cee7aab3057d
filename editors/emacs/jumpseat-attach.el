;;; jumpseat-attach.el --- Add context to chats  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Commands that add items to the context of a chat, list them, and remove them.

;;; Code:

(require 'jumpseat-chat)
(require 'jumpseat-context)

(declare-function dired-get-marked-files "dired")
(defvar Info-current-node)
(defvar Info-current-file)

(defun jumpseat-attach--find-chat ()
  "Return this chat, or else the last one, or else a new one."
  (cond (jumpseat-chat-mode (current-buffer))
        ((car (jumpseat--chat-list)))
        (t (save-window-excursion
             (jumpseat-new)
             (current-buffer)))))

(defun jumpseat-attach--add (&rest items)
  "Add ITEMS to the context of this or the last chat."
  (let ((chat (jumpseat-attach--find-chat)))
    (dolist (item items)
      (jumpseat--context-add chat item))))

(defun jumpseat-attach--make-items ()
  "Return items for the region, the files of Dired, the Info node or the buffer."
  (let ((region (jumpseat--region-active)))
    (cond
     (region (list (apply #'jumpseat--context-region-item region)))
     ((derived-mode-p 'dired-mode)
      (mapcar (lambda (file)
                (if (file-directory-p file) (jumpseat--context-directory-item file)
                  (jumpseat--context-file-item file)))
              (dired-get-marked-files)))
     ((derived-mode-p 'Info-mode)
      (list (jumpseat--context-text-item
             (format "(%s) %s" (file-name-base Info-current-file) Info-current-node)
             (buffer-substring-no-properties (point-min) (point-max)))))
     ((and buffer-file-name (derived-mode-p 'image-mode 'doc-view-mode))
      (list (jumpseat--context-file-item buffer-file-name)))
     (t (list (jumpseat--context-buffer-item (current-buffer)))))))

(defun jumpseat-add ()
  "Add the region, or else the buffer, to the context of the last chat.
In Dired, add the marked files; in Info, add the node.  In a chat, prompt for a
file to add."
  (interactive)
  (if jumpseat-chat-mode (call-interactively #'jumpseat-add-file)
    (apply #'jumpseat-attach--add (jumpseat-attach--make-items))
    (deactivate-mark)))

(defun jumpseat-add-file (file)
  "Add FILE to the context of the last chat: a text, an image or a document."
  (interactive "fAdd file: ")
  (jumpseat-attach--add (if (file-directory-p file) (jumpseat--context-directory-item file)
                          (jumpseat--context-file-item file))))

(defun jumpseat-add-buffer (buffer)
  "Add BUFFER to the context of the last chat."
  (interactive "bAdd buffer: ")
  (jumpseat-attach--add (jumpseat--context-buffer-item (get-buffer buffer))))

(defun jumpseat-add-directory (directory)
  "Add the text files below DIRECTORY to the context of the last chat."
  (interactive "DAdd directory: ")
  (jumpseat-attach--add (jumpseat--context-directory-item directory)))

(defun jumpseat-add-project ()
  "Add the text files of this project to the context of the last chat."
  (interactive)
  (jumpseat-add-directory (project-root (project-current t))))

(defun jumpseat-add-page (url)
  "Fetch the page at URL, and add its text to the context of the last chat."
  (interactive (list (read-string "Add page: " (thing-at-point 'url))))
  (let ((chat (jumpseat-attach--find-chat)))
    (jumpseat--context-fetch-page
     url (lambda (item) (when (buffer-live-p chat) (jumpseat--context-add chat item))))))

(defun jumpseat-add-clipboard ()
  "Add the image in the clipboard to the context of the last chat."
  (interactive)
  (let ((type (seq-find (lambda (each) (gui-get-selection 'CLIPBOARD each))
                        '(image/png image/jpeg image/gif image/webp))))
    (unless type (user-error "There is no image in the clipboard"))
    (jumpseat-attach--add
     (jumpseat--context-image-item
      (encode-coding-string (gui-get-selection 'CLIPBOARD type) 'raw-text) (symbol-name type)))))

;;; The window

(defvar jumpseat-context-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map "d" #'jumpseat-context-remove)
    (define-key map "n" #'next-line)
    (define-key map "p" #'previous-line)
    map)
  "Keymap for the window of the context.")

(defvar-local jumpseat-attach--chat nil "The chat whose context this window shows.")

(define-derived-mode jumpseat-context-mode jumpseat-ui-mode "Context"
  "The mode of the window that lists the context of a chat."
  :interactive nil)

(defun jumpseat-attach--make-line (item)
  "Return the line of the window for ITEM."
  (propertize (concat "  " (jumpseat--context-item-label item) "  "
                      (propertize (jumpseat--context-describe-size item) 'face 'jumpseat-note))
              'jumpseat-item item))

(defun jumpseat-attach--show (chat)
  "Show the context of CHAT."
  (let ((buffer (get-buffer-create "*jumpseat context*")))
    (with-current-buffer buffer
      (unless (derived-mode-p 'jumpseat-context-mode) (jumpseat-context-mode))
      (setq jumpseat-attach--chat chat))
    (jumpseat--ui-show
     (buffer-name buffer)
     (append (list (format "Context of %s" (buffer-name chat))
                   (propertize "d removes an item, q closes." 'face 'jumpseat-note) "")
             (or (mapcar #'jumpseat-attach--make-line
                         (buffer-local-value 'jumpseat--context-items chat))
                 (list "  Nothing is added. M-x jumpseat-add adds the region or the buffer."))))
    (select-window (get-buffer-window buffer t))))

(defun jumpseat-context ()
  "List the context of this chat, or else of the last one."
  (interactive)
  (jumpseat-attach--show (jumpseat-attach--find-chat)))

(defun jumpseat-context-remove ()
  "Remove the item at point from the context of its chat."
  (interactive)
  (let ((item (or (get-text-property (line-beginning-position) 'jumpseat-item)
                  (user-error "There is no item on this line")))
        (chat jumpseat-attach--chat)
        (line (line-number-at-pos)))
    (unless (buffer-live-p chat) (user-error "The chat was closed"))
    (with-current-buffer chat (jumpseat--context-remove item))
    (jumpseat-attach--show chat)
    (goto-char (point-min))
    (forward-line (1- line))))

(provide 'jumpseat-attach)
;;; jumpseat-attach.el ends here
