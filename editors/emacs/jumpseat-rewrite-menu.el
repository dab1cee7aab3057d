;;; jumpseat-rewrite-menu.el --- Rewrites with other options  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A transient menu for one rewrite with its own model, system prompt and
;; context.

;;; Code:

(require 'transient)
(require 'jumpseat-models)
(require 'jumpseat-presets)
(require 'jumpseat-rewrite)
(require 'jumpseat-ui)

(defvar jumpseat-rewrite-menu--options nil
  "The options of the next rewrite; see `jumpseat--rewrite-begin'.")
(defvar jumpseat-rewrite-menu--instruction nil
  "The instruction of the open rewrite that will run again, or nil.")
(defvar jumpseat-rewrite-menu--place nil
  "Markers at the start and the end of the text to rewrite, as a list.")

(defvar jumpseat-system-history nil
  "The system prompts of earlier rewrites, for the minibuffer.
`savehist-mode' saves them.")

(defun jumpseat-rewrite-menu--put (key value)
  "Set the option KEY of the next rewrite to VALUE."
  (setq jumpseat-rewrite-menu--options
        (plist-put (copy-sequence jumpseat-rewrite-menu--options) key value)))

;;; Values

(transient-define-suffix jumpseat-rewrite-menu--choose-model ()
  "Choose the model of the next rewrite."
  :transient t
  :description (lambda ()
                 (jumpseat--ui-describe-value
                  "model" (or (plist-get jumpseat-rewrite-menu--options :model) jumpseat-model)))
  (interactive)
  ;; Request the models now, so that they arrive while the user reads the prompt.
  (let* ((ids (lambda (&rest _) (mapcar (lambda (each) (plist-get each :id)) (jumpseat--models-known))))
         (id (progn
               (funcall ids)
               (completing-read "Model (empty: the default one): " (completion-table-dynamic ids)))))
    (jumpseat-rewrite-menu--put :model (unless (string-empty-p id) id))))

(transient-define-suffix jumpseat-rewrite-menu--read-system ()
  "Write the system prompt of the next rewrite."
  :transient t
  :description (lambda ()
                 (jumpseat--ui-describe-value
                  "system prompt" (plist-get jumpseat-rewrite-menu--options :system)))
  (interactive)
  (let ((text (read-string "System prompt: " (plist-get jumpseat-rewrite-menu--options :system)
                           'jumpseat-system-history)))
    (jumpseat-rewrite-menu--put :system (unless (string-blank-p text) text))))

(transient-define-suffix jumpseat-rewrite-menu--use-preset ()
  "Use the model, the system prompt and the settings of a preset."
  :transient t
  :if (lambda () jumpseat-presets)
  (interactive)
  (let ((preset (jumpseat--preset-get (completing-read "Preset: " jumpseat-presets nil t))))
    (dolist (key '(:model :system :settings))
      (when (plist-get preset key)
        (jumpseat-rewrite-menu--put key (plist-get preset key))))))

;;; Context

(defun jumpseat-rewrite-menu--describe-context ()
  "Name the context of the next rewrite."
  (let ((items (plist-get jumpseat-rewrite-menu--options :context)))
    (jumpseat--ui-describe-value
     "clear:"
     (if (null items) "none"
       ;; The whole paths and addresses would be too long.
       (mapconcat (lambda (item)
                    (file-name-nondirectory (directory-file-name (jumpseat--context-item-label item))))
                  items ", ")))))

(defun jumpseat-rewrite-menu--add (items)
  "Add ITEMS to the context of the next rewrite.
They replace items with the same labels."
  (let ((now (plist-get jumpseat-rewrite-menu--options :context)))
    (jumpseat-rewrite-menu--put
     :context (append (seq-remove (lambda (each)
                                    (seq-some (lambda (item)
                                                (equal (jumpseat--context-item-label each)
                                                       (jumpseat--context-item-label item)))
                                              items))
                                  now)
                      items))))

(transient-define-suffix jumpseat-rewrite-menu--add-chat ()
  "Add the context of the last chat to the next rewrite."
  :transient t
  (interactive)
  (let ((chat (car (jumpseat--chat-list))))
    (jumpseat-rewrite-menu--add
     (or (and chat (buffer-local-value 'jumpseat--context-items chat))
         (user-error "The last chat has no context")))))

(transient-define-suffix jumpseat-rewrite-menu--add-buffer ()
  "Add a buffer to the context of the next rewrite."
  :transient t
  (interactive)
  (jumpseat-rewrite-menu--add
   (list (jumpseat--context-buffer-item (get-buffer (read-buffer "Add buffer: " nil t))))))

(transient-define-suffix jumpseat-rewrite-menu--add-file ()
  "Add a file to the context of the next rewrite."
  :transient t
  (interactive)
  (jumpseat-rewrite-menu--add
   (list (jumpseat--context-file-item (read-file-name "Add file: " nil nil t)))))

(transient-define-suffix jumpseat-rewrite-menu--clear-context ()
  "Remove the context of the next rewrite."
  :transient t
  :description #'jumpseat-rewrite-menu--describe-context
  (interactive)
  (jumpseat-rewrite-menu--put :context nil))

;;; The menu

(transient-define-suffix jumpseat-rewrite-menu--start ()
  "Read the instruction, and start the rewrite."
  (interactive)
  (let ((bounds (mapcar #'marker-position jumpseat-rewrite-menu--place)))
    (with-current-buffer (marker-buffer (car jumpseat-rewrite-menu--place))
      (let ((instruction (jumpseat--rewrite-read jumpseat-rewrite-menu--instruction)))
        (deactivate-mark)
        (jumpseat--rewrite-begin (car bounds) (cadr bounds) instruction
                                 jumpseat-rewrite-menu--options)))))

(transient-define-prefix jumpseat-rewrite-with ()
  "Rewrite the region or the line with another model, system prompt or context.
At an open rewrite, run that rewrite again."
  [["Rewrite with"
    ("m" jumpseat-rewrite-menu--choose-model)
    ("s" jumpseat-rewrite-menu--read-system)
    ("p" "preset …" jumpseat-rewrite-menu--use-preset)]
   ["Context"
    ("x" jumpseat-rewrite-menu--clear-context)
    ("c" "add the context of the last chat" jumpseat-rewrite-menu--add-chat)
    ("b" "add a buffer" jumpseat-rewrite-menu--add-buffer)
    ("f" "add a file" jumpseat-rewrite-menu--add-file)]
   [""
    ("RET" "start" jumpseat-rewrite-menu--start)]]
  (interactive)
  (let ((edit (and (not (use-region-p)) (jumpseat--edit-find-between (point) (point)))))
    (setq jumpseat-rewrite-menu--options (and edit (jumpseat--edit-options edit))
          jumpseat-rewrite-menu--instruction (and edit (jumpseat--edit-instruction edit))
          jumpseat-rewrite-menu--place
          (mapcar #'copy-marker
                  (if edit (list (jumpseat--edit-start edit) (jumpseat--edit-end edit))
                    (jumpseat--rewrite-find-text))))
    (transient-setup 'jumpseat-rewrite-with)))

(provide 'jumpseat-rewrite-menu)
;;; jumpseat-rewrite-menu.el ends here
