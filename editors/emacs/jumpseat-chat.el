;;; jumpseat-chat.el --- Buffers that are conversations  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; `jumpseat-chat-mode' makes a chat of a buffer, on top of Markdown mode if that is installed.

;;; Code:

(require 'jumpseat-answer)
(require 'jumpseat-transcript)
(require 'jumpseat-turn)

(declare-function jumpseat-complete-at-point "jumpseat-complete")
(declare-function jumpseat-check-flymake "jumpseat-check")
(declare-function jumpseat-open "jumpseat-file")
(declare-function jumpseat-save "jumpseat-file")
(declare-function jumpseat-send "jumpseat-send")
(declare-function jumpseat-stop "jumpseat")
(declare-function jumpseat-copy-code "jumpseat-ask")
(declare-function jumpseat-insert-code "jumpseat-ask")
(declare-function jumpseat-model "jumpseat-models")
(declare-function jumpseat-settings "jumpseat-models")
(declare-function markdown-mode "ext:markdown-mode")

(defvar jumpseat-file-is-chat)
(defvar-local jumpseat-chat-turn nil "The turn that runs in this chat.")
(defvar-local jumpseat-chat--modes nil "The minor modes that being a chat has switched on here.")
(defvar-local jumpseat-chat-preparing nil
  "While the question of this chat is being read, an object that stands for it.")

;;; Modes

(defun jumpseat-chat--find-heading (limit)
  "Move behind the next heading before LIMIT, and set the match to it."
  (re-search-forward (jumpseat-transcript-heading-regexp) limit t))

(defconst jumpseat-chat--keywords
  '((jumpseat-chat--find-heading (0 'font-lock-function-name-face t))
    ("^\\(?:```\\|~~~\\).*$" (0 'font-lock-comment-face))
    ("^</?details>.*$" (0 'font-lock-comment-face))
    ("`[^`\n]+`" (0 'font-lock-constant-face))
    ("\\*\\*[^*\n]+\\*\\*" (0 'bold))
    ("\\`---$" (0 'font-lock-comment-face))
    ("^\\(?:\\(?:model\\|system\\|settings\\|conversation\\):\\)" (0 'font-lock-keyword-face)))
  "What the text of a chat looks like without Markdown mode.")

(define-derived-mode jumpseat-plain-mode text-mode "Chat"
  "The mode of chats if Markdown mode is not installed."
  (setq-local font-lock-defaults '(jumpseat-chat--keywords t)))

(defun jumpseat-chat-text-mode ()
  "Switch to the major mode of chats."
  (if (fboundp 'markdown-mode) (markdown-mode) (jumpseat-plain-mode)))

(defvar jumpseat-chat-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c RET") #'jumpseat-send)
    ;; The last one is shown in the header line.
    (define-key map (kbd "C-c C-c") #'jumpseat-send)
    (define-key map (kbd "C-c C-k") #'jumpseat-stop)
    (define-key map (kbd "C-c C-n") #'jumpseat-next-turn)
    (define-key map (kbd "C-c C-p") #'jumpseat-previous-turn)
    (define-key map (kbd "C-c C-t") #'jumpseat-toggle-thinking)
    (define-key map (kbd "C-c C-v") #'jumpseat-model)
    (define-key map (kbd "C-c C-o") #'jumpseat-settings)
    (define-key map (kbd "C-c C-w") #'jumpseat-copy-code)
    (define-key map (kbd "C-c C-i") #'jumpseat-insert-code)
    ;; In text modes this key completes words of a dictionary.
    (define-key map (kbd "C-M-i") #'completion-at-point)
    (define-key map [remap save-buffer] #'jumpseat-save)
    map)
  "Keys in chats.")

(easy-menu-define jumpseat-chat-menu jumpseat-chat-mode-map
  "Menu in chats."
  '("Jumpseat"
    ["Send" jumpseat-send :active (not (jumpseat-chat-running-p))]
    ["Stop" jumpseat-stop :active (jumpseat-chat-running-p)]
    "---"
    ["Choose Model..." jumpseat-model]
    ["Choose Setting..." jumpseat-settings]
    "---"
    ["Next Heading" jumpseat-next-turn]
    ["Previous Heading" jumpseat-previous-turn]
    ["Show or Hide Thinking" jumpseat-toggle-thinking]
    ["Copy Code Block" jumpseat-copy-code]
    ["Insert Code Block into Last File" jumpseat-insert-code]
    "---"
    ["New Chat" (jumpseat t)]
    ["Open Saved Chat..." jumpseat-open]
    ["Kept Conversations..." jumpseat-history]
    "---"
    ["Status" jumpseat-status]
    ["Logs" jumpseat-log]
    ["Options" (customize-group 'jumpseat)]))

;;;###autoload
(define-minor-mode jumpseat-chat-mode
  "Make a chat of this buffer: its text is a conversation with a model.

Write a question under the last heading, and send it with \\[jumpseat-send].
\\[jumpseat-stop] stops the answer; the partial answer stays.

\\{jumpseat-chat-mode-map}"
  :lighter (:eval (jumpseat-view-lighter))
  (cond
   (jumpseat-chat-mode
    ;; All of it: its keys and hooks are in other files.
    (require 'jumpseat)
    (setq jumpseat-file-is-chat t)
    (setq header-line-format '(:eval (jumpseat-view-header)))
    ;; Half a page of jump whenever the text grows below the window would be hard to read.
    (setq-local scroll-conservatively 101)
    (setq-local buffer-offer-save (not jumpseat-keep))
    (setq-local sentence-end-double-space nil)
    (add-hook 'completion-at-point-functions #'jumpseat-complete-at-point nil t)
    (add-hook 'flymake-diagnostic-functions #'jumpseat-check-flymake nil t)
    (add-hook 'kill-buffer-hook #'jumpseat-chat-stop nil t)
    (add-hook 'change-major-mode-hook #'jumpseat-chat-stop nil t)
    ;; `revert-buffer' sets the major mode again, which ends this one.
    (add-hook 'after-revert-hook #'jumpseat-chat-mode nil t)
    (jumpseat-view-update :model (jumpseat-transcript-model))
    (dolist (mode '(visual-line-mode flymake-mode))
      (unless (and (boundp mode) (symbol-value mode))
        (push mode jumpseat-chat--modes)
        (funcall mode)))
    (jumpseat-chat-fold))
   (t
    (setq jumpseat-file-is-chat nil)
    (mapc #'kill-local-variable '(header-line-format scroll-conservatively buffer-offer-save
                                                     sentence-end-double-space))
    (remove-hook 'completion-at-point-functions #'jumpseat-complete-at-point t)
    (remove-hook 'flymake-diagnostic-functions #'jumpseat-check-flymake t)
    (remove-hook 'kill-buffer-hook #'jumpseat-chat-stop t)
    (remove-hook 'change-major-mode-hook #'jumpseat-chat-stop t)
    (remove-hook 'after-revert-hook #'jumpseat-chat-mode t)
    (jumpseat-chat-stop)
    (dolist (mode jumpseat-chat--modes)
      (funcall mode -1))
    (setq jumpseat-chat--modes nil)
    (mapc #'jumpseat-view-clear '(message heading fold)))))

(defun jumpseat-chat-fold ()
  "Fold the thinking in this chat, at the lines that the daemon names."
  (jumpseat-view-clear 'fold)
  (let ((buffer (current-buffer))
        (tick (buffer-chars-modified-tick))
        (text (jumpseat-transcript-text)))
    (when (string-match-p "^<details>" text)
      (jumpseat-transcript-parse
       text
       (lambda (_err conversation)
         (when (and (buffer-live-p buffer) (eql tick (buffer-chars-modified-tick buffer)))
           (with-current-buffer buffer
             (seq-doseq (turn (plist-get conversation :turns))
               (seq-doseq (lines (plist-get turn :thinking))
                 (jumpseat-view-fold (jumpseat-transcript-line (plist-get lines :startLine))
                                     (jumpseat-transcript-line
                                      (plist-get lines :endLine))))))))))))

;;; Opening

(defun jumpseat-chat-list ()
  "The chats, the last used first."
  (seq-filter (lambda (each) (buffer-local-value 'jumpseat-chat-mode each)) (buffer-list)))

(defun jumpseat-chat-source ()
  "The buffer that `@buffer' means, or nil.
It is the last one that is not a chat and not the log of the daemon."
  (seq-find (lambda (each)
              (with-current-buffer each
                (and (not jumpseat-chat-mode) (not (minibufferp))
                     (not (equal buffer-file-name (expand-file-name (jumpseat-log-file))))
                     (or buffer-file-name
                         (and (not (string-match-p "\\`[ *]" (buffer-name)))
                              (> (buffer-size) 0))))))
            (buffer-list)))

(defun jumpseat-chat-new (text)
  "A new chat with TEXT."
  (let ((directory default-directory)
        (buffer (generate-new-buffer "*jumpseat*")))
    (with-current-buffer buffer
      (setq default-directory directory)
      (insert text)
      (jumpseat-chat-text-mode)
      (setq buffer-undo-list nil)
      (set-buffer-modified-p nil)
      (jumpseat-chat-mode))
    buffer))

(defun jumpseat-chat--put-heading (place heading)
  "Put HEADING in the place of the standard one at PLACE, a marker in a new chat.
Does nothing if a person has changed that line."
  (when-let ((buffer (marker-buffer place)))
    (with-current-buffer buffer
      (save-excursion
        (save-restriction
          (widen)
          (goto-char place)
          (when (looking-at (concat (regexp-quote jumpseat-transcript-question) "$"))
            (let ((modified (buffer-modified-p))
                  (undo buffer-undo-list)
                  (inhibit-read-only t))
              ;; What was typed before is undone at other positions now, unless this is a step too.
              (when (consp undo) (undo-boundary))
              (jumpseat-transcript-replace (point) (match-end 0) heading)
              (unless undo (setq buffer-undo-list nil))
              (restore-buffer-modified-p modified)))))
      (set-marker place nil))))

(defun jumpseat-chat--name-heading ()
  "Use the heading of the configuration in this chat, which is new."
  (let ((place (save-excursion
                 (goto-char (jumpseat-transcript-front-matter-end))
                 (skip-chars-forward "\n")
                 (point-marker))))
    (jumpseat-transcript-headings
     jumpseat-model
     (lambda (_err headings)
       (when headings (jumpseat-chat--put-heading place (car headings)))))))

(defun jumpseat-chat-show (buffer)
  "Show the chat BUFFER with point at its end."
  (pop-to-buffer buffer)
  (goto-char (point-max)))

;;;###autoload
(defun jumpseat (&optional new)
  "Open the last chat, or with a prefix argument NEW a new one."
  (interactive "P")
  (let ((chat (and (not new) (car (jumpseat-chat-list)))))
    (jumpseat-chat-show
     (or chat
         (jumpseat-chat-new
          (concat (when jumpseat-model (format "---\nmodel: %s\n---\n\n" jumpseat-model))
                  jumpseat-transcript-question "\n\n"))))
    ;; The chat does not wait for the daemon.
    (unless chat (jumpseat-chat--name-heading))))

;;; Moving, and stopping

(defun jumpseat-next-turn (&optional count)
  "Move to the next heading, or the COUNTth."
  (interactive "p")
  (end-of-line)
  (when (re-search-forward (jumpseat-transcript-heading-regexp) nil 'end (or count 1))
    (beginning-of-line)))

(defun jumpseat-previous-turn (&optional count)
  "Move to the previous heading, or the COUNTth."
  (interactive "p")
  (beginning-of-line)
  (re-search-backward (jumpseat-transcript-heading-regexp) nil 'end (or count 1)))

(defun jumpseat-chat-running-p ()
  "Whether an answer is requested or written in this buffer."
  (or jumpseat-chat-turn jumpseat-chat-preparing))

(defun jumpseat-chat-stop ()
  "Stop the answer of this buffer, and return whether there was one."
  (cond (jumpseat-chat-turn
         (jumpseat-view-update :state 'stopping)
         (jumpseat-turn-stop jumpseat-chat-turn)
         t)
        (jumpseat-chat-preparing
         (setq jumpseat-chat-preparing nil)
         (jumpseat-view-update :state nil)
         t)))

(defun jumpseat-chat--progress (params)
  "Show a wait that is not for the model, such as loading it, from PARAMS."
  (dolist (buffer (jumpseat-chat-list))
    (with-current-buffer buffer
      (when (and jumpseat-chat-turn
                 (equal (jumpseat-turn-id jumpseat-chat-turn) (plist-get params :token)))
        (let* ((value (plist-get params :value))
               (text (or (plist-get value :message) (plist-get value :title)))
               (percentage (plist-get value :percentage)))
          (jumpseat-view-update
           :detail (cond ((equal (plist-get value :kind) "end") nil)
                         ((and text percentage) (format "%s %d %%" text percentage))
                         (t text))))))))

(jumpseat-rpc-on '$/progress #'jumpseat-chat--progress)

(provide 'jumpseat-chat)
;;; jumpseat-chat.el ends here
