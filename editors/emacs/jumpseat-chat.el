;;; jumpseat-chat.el --- The minor mode for chats  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; `jumpseat-chat-mode' makes a buffer a chat.  The major mode is Org mode,
;; Markdown mode, or `jumpseat-plain-mode' if Markdown mode is not installed.
;; This file also has the commands that open chats and move between turns.

;;; Code:

(require 'jumpseat-check)
(require 'jumpseat-complete)
(require 'jumpseat-send)

(declare-function markdown-mode "ext:markdown-mode")

(defvar org-startup-folded)
(defvar org-element-use-cache)

(defvar-local jumpseat-chat--modes nil
  "The minor modes that `jumpseat-chat-mode' turned on in this buffer.")

;;; Modes

(defun jumpseat-chat--find-heading (limit)
  "Move to the end of the next heading before LIMIT, and set the match data to it."
  (re-search-forward (jumpseat--transcript-heading-regexp) limit t))

(defconst jumpseat-chat--keywords
  '((jumpseat-chat--find-heading (0 'font-lock-function-name-face t))
    ("^\\(?:```\\|~~~\\).*$" (0 'font-lock-comment-face))
    ("^</?details>.*$" (0 'font-lock-comment-face))
    ("`[^`\n]+`" (0 'font-lock-constant-face))
    ("\\*\\*[^*\n]+\\*\\*" (0 'bold))
    ("\\`---$" (0 'font-lock-comment-face))
    ("^\\(?:\\(?:model\\|system\\|tools\\|settings\\|conversation\\):\\)" (0 'font-lock-keyword-face)))
  "Font lock keywords for chats without Markdown mode.")

(defconst jumpseat-chat--org-keywords
  '(("^[ \t]*\\(,+\\)\\(?:#\\+\\|\\*+\\(?:[ \t]\\|$\\)\\)" (1 'jumpseat-note t))
    ("^[ \t]*\\(?:```\\|~~~\\).*$" (0 'org-block-begin-line t))
    ;; Org would show a heading in Markdown as a comment.
    ("^#\\{1,6\\} .*$" (0 'bold t))
    ("`[^`\n]+`" (0 'org-code t))
    ("\\*\\*[^*\n]+\\*\\*" (0 'bold t)))
  "Font lock keywords for the Markdown in chats in Org.")

(defun jumpseat-chat--adapt-org (on)
  "Adapt Org mode to chats, or undo that if ON is nil."
  (when (derived-mode-p 'org-mode)
    (if on (font-lock-add-keywords nil jumpseat-chat--org-keywords 'append)
      (font-lock-remove-keywords nil jumpseat-chat--org-keywords))
    (font-lock-flush)
    ;; Answers are written without the hooks that keep this cache up to date.
    (if on (setq-local org-element-use-cache nil)
      (kill-local-variable 'org-element-use-cache))))

(define-derived-mode jumpseat-plain-mode text-mode "Chat"
  "The mode of chats if Markdown mode is not installed."
  (setq-local font-lock-defaults '(jumpseat-chat--keywords t)))

(defun jumpseat--chat-text-mode (format)
  "Switch to the major mode for chats in FORMAT."
  (cond ((eq format jumpseat--format-org)
         ;; An answer is written at the end, which must be visible.
         (let ((org-startup-folded nil)) (org-mode)))
        ((fboundp 'markdown-mode) (markdown-mode))
        (t (jumpseat-plain-mode))))

(defvar jumpseat-chat-mode-map (make-sparse-keymap)
  "Keymap for chats; the file jumpseat.el adds the keys.")

(define-minor-mode jumpseat-chat-mode
  "Make a chat of this buffer: its text is a conversation with a model.

Write a question under the last heading, and send it with \\[jumpseat-send].
\\[jumpseat-stop] stops the answer; the partial answer stays.

\\{jumpseat-chat-mode-map}"
  :variable jumpseat-chat-mode
  :lighter (:eval (jumpseat--view-lighter))
  (cond
   (jumpseat-chat-mode
    (setq header-line-format '(:eval (jumpseat--view-header)))
    ;; By default, Emacs would jump by half a page whenever the text grows below
    ;; the window, which is hard to read.
    (setq-local scroll-conservatively 101)
    (setq-local buffer-offer-save (not jumpseat-keep))
    (setq-local sentence-end-double-space nil)
    (add-hook 'completion-at-point-functions #'jumpseat--complete-at-point nil t)
    (add-hook 'flymake-diagnostic-functions #'jumpseat--check-flymake nil t)
    (add-hook 'kill-buffer-hook #'jumpseat--send-stop nil t)
    (add-hook 'change-major-mode-hook #'jumpseat--send-stop nil t)
    ;; `revert-buffer' sets the major mode again, which turns this mode off.
    (add-hook 'after-revert-hook #'jumpseat-chat-mode nil t)
    (jumpseat--view-update :model (jumpseat--transcript-model))
    (jumpseat-chat--adapt-org t)
    (jumpseat--tools-show-in-header)
    (jumpseat--context-show-in-header)
    (dolist (mode '(visual-line-mode flymake-mode))
      (unless (and (boundp mode) (symbol-value mode))
        (push mode jumpseat-chat--modes)
        (funcall mode)))
    (jumpseat--chat-fold))
   (t
    (mapc #'kill-local-variable '(header-line-format scroll-conservatively buffer-offer-save
                                                     sentence-end-double-space))
    (remove-hook 'completion-at-point-functions #'jumpseat--complete-at-point t)
    (remove-hook 'flymake-diagnostic-functions #'jumpseat--check-flymake t)
    (remove-hook 'kill-buffer-hook #'jumpseat--send-stop t)
    (remove-hook 'change-major-mode-hook #'jumpseat--send-stop t)
    (remove-hook 'after-revert-hook #'jumpseat-chat-mode t)
    (jumpseat--send-stop)
    (jumpseat-chat--adapt-org nil)
    (dolist (mode jumpseat-chat--modes)
      (funcall mode -1))
    (setq jumpseat-chat--modes nil)
    (mapc #'jumpseat--view-clear '(message heading fold)))))

(defun jumpseat--chat-fold ()
  "Fold each call, result, image and long context in this chat, and the thinking.
The thinking is folded later, when the daemon has found its lines."
  (jumpseat--view-clear 'fold)
  (save-restriction
    (widen)
    (jumpseat--calls-fold (point-min) (point-max)))
  (let ((buffer (current-buffer))
        (tick (buffer-chars-modified-tick))
        (text (jumpseat--transcript-text)))
    (when (string-match-p (concat "^" (regexp-quote (jumpseat--format-thinking
                                                     (jumpseat--format-here))))
                          text)
      (jumpseat--transcript-parse
       text
       (lambda (_err conversation)
         (when (and (buffer-live-p buffer) (eql tick (buffer-chars-modified-tick buffer)))
           (with-current-buffer buffer
             (seq-doseq (turn (plist-get conversation :turns))
               (seq-doseq (lines (plist-get turn :thinking))
                 (jumpseat--view-fold-thinking
                  (jumpseat--outline-find-line (plist-get lines :startLine))
                  (jumpseat--outline-find-line (plist-get lines :endLine))))))))))))

;;; Opening

(defun jumpseat--chat-new (text format)
  "Create a new chat with TEXT in FORMAT, and return its buffer."
  (let ((directory default-directory)
        (buffer (generate-new-buffer "*jumpseat*")))
    (with-current-buffer buffer
      (setq default-directory directory)
      (insert text)
      (jumpseat--chat-text-mode format)
      (setq buffer-undo-list nil)
      (set-buffer-modified-p nil)
      (jumpseat-chat-mode))
    buffer))

(defun jumpseat-chat--put-heading (place heading)
  "Replace the standard heading at PLACE, a marker in a new chat, with HEADING.
Do nothing if the user has edited that line."
  (when-let ((buffer (marker-buffer place)))
    (with-current-buffer buffer
      (save-excursion
        (save-restriction
          (widen)
          (goto-char place)
          (when (looking-at (concat (regexp-quote (jumpseat--transcript-question)) "$"))
            (let ((modified (buffer-modified-p))
                  (undo buffer-undo-list)
                  (inhibit-read-only t))
              ;; Undo records positions.  If earlier edits can be undone, this
              ;; change must be an undo step too.
              (when (consp undo) (undo-boundary))
              (jumpseat--transcript-replace (point) (match-end 0) heading)
              (unless undo (setq buffer-undo-list nil))
              (restore-buffer-modified-p modified)))))
      (set-marker place nil))))

(defun jumpseat-chat--fetch-heading ()
  "Replace the heading of this new chat with the configured one."
  (let ((place (save-excursion
                 (goto-char (jumpseat--transcript-front-matter-end))
                 (skip-chars-forward "\n")
                 (point-marker))))
    (jumpseat--transcript-fetch-headings
     jumpseat-model
     (lambda (_err headings)
       (when headings (jumpseat-chat--put-heading place (car headings)))))))

(defun jumpseat--chat-show (buffer)
  "Show the chat BUFFER with point at its end."
  (pop-to-buffer buffer)
  (goto-char (point-max)))

(defun jumpseat-chat--make-front-matter (format)
  "Return the front matter of a new chat in FORMAT, with its model and its tools."
  (if (not (or jumpseat-model jumpseat-tools)) ""
    (let ((property (jumpseat--format-property format)))
      (concat (jumpseat--format-front format) "\n"
              (when jumpseat-model (format "%smodel: %s\n" property jumpseat-model))
              (when jumpseat-tools
                (format "%stools: %s\n" property (string-join jumpseat-tools ", ")))
              (jumpseat--format-front-end format) "\n\n"))))

(defun jumpseat-chat--open-new (format)
  "Open a new chat in FORMAT."
  (jumpseat--chat-show
   (jumpseat--chat-new (concat (jumpseat-chat--make-front-matter format)
                               (jumpseat--transcript-question format) "\n\n")
                       format))
  ;; Until the daemon has sent the configured heading, the chat has a standard one.
  (jumpseat-chat--fetch-heading))

(defun jumpseat (&optional new)
  "Open the last chat, or a new one if there is none.
With a prefix argument NEW, always open a new chat."
  (interactive "P")
  (let ((chat (and (not new) (car (jumpseat--chat-list)))))
    (if chat (jumpseat--chat-show chat)
      (jumpseat-chat--open-new (jumpseat--format-named jumpseat-chat-format)))))

(defun jumpseat-new (&optional other)
  "Open a new chat.
The format is `jumpseat-chat-format' or, with a prefix argument OTHER, the other
format: Org instead of Markdown, or Markdown instead of Org."
  (interactive "P")
  (jumpseat-chat--open-new
   (jumpseat--format-named
    (if other (if (eq jumpseat-chat-format 'org) 'markdown 'org) jumpseat-chat-format))))

;;; Moving

(defun jumpseat-next-turn (&optional count)
  "Move to the next heading, or to the COUNTth heading after point."
  (interactive "p")
  (end-of-line)
  (when (re-search-forward (jumpseat--transcript-heading-regexp) nil 'end (or count 1))
    (beginning-of-line)))

(defun jumpseat-previous-turn (&optional count)
  "Move to the previous heading, or to the COUNTth heading before point."
  (interactive "p")
  (beginning-of-line)
  (re-search-backward (jumpseat--transcript-heading-regexp) nil 'end (or count 1)))

(provide 'jumpseat-chat)
;;; jumpseat-chat.el ends here
