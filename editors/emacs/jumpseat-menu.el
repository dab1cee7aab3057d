;;; jumpseat-menu.el --- One menu for everything  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A transient menu that shows and changes the model, the system prompt, the
;; settings and the tools of a chat, and sends text from other buffers.

;;; Code:

(require 'transient)
(require 'jumpseat-account)
(require 'jumpseat-anywhere)
(require 'jumpseat-attach)
(require 'jumpseat-history)
(require 'jumpseat-inspect)
(require 'jumpseat-keys)
(require 'jumpseat-presets)
(require 'jumpseat-ready)
(require 'jumpseat-rewrite-menu)
(require 'jumpseat-ui)
(require 'jumpseat-variants)

(defun jumpseat-stop ()
  "Stop the answer or the rewrite of this buffer; a partial answer stays."
  (interactive)
  (unless (or (jumpseat--send-stop) (jumpseat--rewrite-stop-any) (jumpseat--anywhere-stop))
    (jumpseat--say "Nothing is running in this buffer.")))

;;; The system prompt

(defvar jumpseat-system-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-c") #'jumpseat-system-save)
    (define-key map (kbd "C-c C-k") #'quit-window)
    map)
  "Keymap for the buffer in which a system prompt is edited.")

(defvar-local jumpseat-menu--chat nil "The chat whose system prompt is edited here.")
(defvar-local jumpseat-menu--place nil "A marker in that chat, in the branch to change.")

(define-derived-mode jumpseat-system-mode text-mode "System prompt"
  "The mode of the window in which the system prompt of a chat is edited."
  :interactive nil
  (setq header-line-format
        (substitute-command-keys
         " The system prompt: \\[jumpseat-system-save] saves it, \\[quit-window] cancels")))

(defun jumpseat-system-save ()
  "Save the text of this window as the system prompt of its chat."
  (interactive)
  (let ((text (string-trim (buffer-string)))
        (chat jumpseat-menu--chat)
        (place jumpseat-menu--place))
    (unless (buffer-live-p chat) (user-error "The chat was closed"))
    (quit-window t)
    (with-current-buffer chat
      (jumpseat--transcript-update
       (lambda (now) (append (list :system (unless (string-empty-p text) text)) now))
       nil place))))

(defun jumpseat-system ()
  "Edit the system prompt of this chat in a window."
  (interactive)
  (unless jumpseat-chat-mode
    (user-error "This is not a chat; %s opens one" (substitute-command-keys "\\[jumpseat]")))
  (let ((chat (current-buffer)))
    (jumpseat--transcript-parse-here
     (jumpseat--make-callback
      (lambda (conversation)
        (pop-to-buffer (get-buffer-create "*jumpseat system prompt*"))
        (erase-buffer)
        (insert (or (plist-get conversation :system) ""))
        (jumpseat-system-mode)
        (setq jumpseat-menu--chat chat
              jumpseat-menu--place (plist-get conversation :place)))))))

;;; Descriptions

(defun jumpseat-menu--describe-model ()
  "Describe the model of this chat or, outside of chats, that of new chats."
  (jumpseat--ui-describe-value
   "model" (if jumpseat-chat-mode
               (or (jumpseat--transcript-model) (jumpseat--view-get :model))
             jumpseat-model)))

(defun jumpseat-menu--describe-system ()
  "Describe the system prompt of the chat."
  (jumpseat--ui-describe-value "system prompt" (jumpseat--transcript-value "system")))

(defun jumpseat-menu--describe-thinking ()
  "Describe the thinking of the chat."
  (jumpseat--ui-describe-value "thinking" (jumpseat--transcript-value "thinking")))

(defun jumpseat-menu--describe-tools ()
  "Describe the tools of the chat."
  (jumpseat--ui-describe-value
   "tools" (string-remove-prefix "tools: " (or (jumpseat--view-get :tools) "none"))))

(defun jumpseat-menu--describe-context ()
  "Describe the number of context items of this chat, or else of the last chat."
  (let ((chat (if jumpseat-chat-mode (current-buffer) (car (jumpseat--chat-list)))))
    (jumpseat--ui-describe-value
     "context" (number-to-string
                (length (and chat (buffer-local-value 'jumpseat--context-items chat)))))))

(defun jumpseat-menu--describe-keep ()
  "Describe whether conversations are kept."
  (jumpseat--ui-describe-value "keep conversations" (if jumpseat-keep "yes" "no")))

(defun jumpseat-menu--chat-p ()
  "Whether this buffer is a chat."
  jumpseat-chat-mode)

(defun jumpseat-menu--elsewhere-p ()
  "Whether this buffer is not a chat."
  (not jumpseat-chat-mode))

;;; The menu

(transient-define-suffix jumpseat-menu-keep ()
  "Switch whether new turns are kept; the choice lasts until Emacs exits."
  :transient t
  (interactive)
  (setq jumpseat-keep (not jumpseat-keep)))

(defmacro jumpseat-menu--define-destination (destination place)
  "Define a command that sends text and writes the answer to DESTINATION.
PLACE describes DESTINATION in the command's docstring."
  (let ((name (intern (format "jumpseat-send-to-%s" destination))))
    `(defun ,name ()
       ,(format "Send the region or the text before point; the answer goes into %s." place)
       (interactive)
       (jumpseat--anywhere-send ',destination))))

(jumpseat-menu--define-destination kill-ring "the kill ring")
(jumpseat-menu--define-destination echo-area "the echo area")
(jumpseat-menu--define-destination buffer "another buffer")
(jumpseat-menu--define-destination chat "a chat")

(transient-define-prefix jumpseat-menu ()
  "Show and change everything about this chat, or send text from this buffer."
  [["Chat"
    :if jumpseat-menu--chat-p
    ("RET" "send" jumpseat-send)
    ("?" "show what would be sent" jumpseat-dry-run)
    ("a" "ask the question at point again" jumpseat-retry)
    ("N" "next variant" jumpseat-next-variant)
    ("=" "compare variants" jumpseat-ediff-variants)
    ("b" "start a branch" jumpseat-branch :if-derived org-mode)]
   ["Send the region or the text before point"
    :if jumpseat-menu--elsewhere-p
    ("RET" "answer here" jumpseat-send)
    ("?" "show what would be sent" jumpseat-dry-run)
    ("w" "answer in the kill ring" jumpseat-send-to-kill-ring)
    ("e" "answer in the echo area" jumpseat-send-to-echo-area)
    ("b" "answer in a buffer" jumpseat-send-to-buffer)
    ("c" "answer in a chat" jumpseat-send-to-chat)
    ("r" "rewrite the region" jumpseat-rewrite)
    ("R" "rewrite it with …" jumpseat-rewrite-with)
    ("a" "ask about the region" jumpseat-ask)]
   ["With"
    ("m" jumpseat-model :description jumpseat-menu--describe-model)
    ("s" jumpseat-system :description jumpseat-menu--describe-system :if jumpseat-menu--chat-p)
    ("t" jumpseat-thinking :description jumpseat-menu--describe-thinking :if jumpseat-menu--chat-p)
    ("o" "setting …" jumpseat-settings :if jumpseat-menu--chat-p)
    ("l" jumpseat-tools :description jumpseat-menu--describe-tools :if jumpseat-menu--chat-p)
    ("x" jumpseat-context :description jumpseat-menu--describe-context)
    ("+" "add context" jumpseat-add)
    ("p" "preset …" jumpseat-preset :if jumpseat-menu--chat-p)
    ("K" jumpseat-menu-keep :description jumpseat-menu--describe-keep)]]
  [["About the region or the function"
    :if jumpseat-menu--elsewhere-p
    ("E" "explain" jumpseat-explain)
    ("V" "review" jumpseat-review)
    ("F" "fix" jumpseat-fix)
    ("D" "document" jumpseat-document)
    ("T" "write tests" jumpseat-write-tests)
    ("P" "prompt …" jumpseat-prompt)
    ("C" "commit message" jumpseat-commit-message)]
   ["Chats"
    ("j" "last chat" jumpseat)
    ("g" "chat of the project" jumpseat-project)
    ("n" "new chat" jumpseat-new)
    ("h" "kept conversations" jumpseat-history)
    ("f" "saved chats" jumpseat-open)]
   ["Account"
    ("S" "status" jumpseat-status)
    ("i" "sign in" jumpseat-login)
    ("y" "set an API key" jumpseat-set-key)
    ("d" "check a provider" jumpseat-doctor)
    ("L" "logs" jumpseat-log)]
   ["Running"
    ("k" "stop" jumpseat-stop)]])

(provide 'jumpseat-menu)
;;; jumpseat-menu.el ends here
