;;; jumpseat-ask.el --- Questions from any buffer, and code from chats  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Adds a question about the region to the last chat, and copies code from a
;; chat into the kill ring or another buffer.

;;; Code:

(require 'jumpseat-chat)

(defvar jumpseat-question-history nil
  "The questions of `jumpseat-ask', for the minibuffer.
`savehist-mode' saves them.")

(defun jumpseat-ask--check-idle ()
  "Signal a `user-error' if the last chat is being answered.
A question would otherwise be inserted in the middle of the answer."
  (when-let ((chat (car (jumpseat--chat-list))))
    (with-current-buffer chat
      (when (jumpseat--send-running-p)
        (user-error "%s is being answered: %s stops that, %s opens another chat"
                    chat (substitute-command-keys "\\[jumpseat-stop]")
                    (substitute-command-keys "\\[universal-argument] \\[jumpseat]"))))))

(defun jumpseat-ask--add (text)
  "Add TEXT, a message with its heading, at the end of this chat."
  (save-restriction
    (widen)
    ;; Drop the empty question at the end of the chat: TEXT has its own heading.
    (goto-char (jumpseat--transcript-drop-empty-question))
    (insert (if (bobp) "" "\n\n") text "\n")
    (goto-char (point-max))))

(defun jumpseat-ask (question &optional beg end)
  "Ask QUESTION in the last chat, about the region if it is active.
If QUESTION is empty, add the region, from BEG to END, without sending it."
  (interactive
   (let ((region (jumpseat--region-active)))
     (jumpseat-ask--check-idle)
     (cons (read-string (if region "Ask about the region: " "Ask: ") nil 'jumpseat-question-history)
           region)))
  (jumpseat-ask--check-idle)
  (let ((content (delq nil (list (when beg (jumpseat--region-block beg end))
                                 (unless (string-empty-p question)
                                   (list :type "text" :text question))))))
    (deactivate-mark)
    (jumpseat)
    (when content
      (let ((chat (current-buffer)))
        (jumpseat--transcript-render
         (list :role "user" :content (vconcat content))
         (list :model (jumpseat--transcript-model))
         (jumpseat--make-callback
          (lambda (text)
            (when (buffer-live-p chat)
              (with-current-buffer chat
                (jumpseat-ask--add text)
                (dolist (window (get-buffer-window-list chat nil t))
                  (set-window-point window (point-max)))
                (unless (string-empty-p question) (jumpseat--send-start)))))))))))

;;; Code blocks

(defun jumpseat-ask--find-block ()
  "Return the bounds of the code in the block at point, or else in the last one."
  (save-excursion
    (save-restriction
      (widen)
      (let ((at (point)) found)
        (goto-char (point-min))
        (while (and (or (null found) (< (point) at) (not (eobp)))
                    (re-search-forward "^\\(```+\\|~~~+\\).*\n" nil t))
          (let ((fence (match-string 1)) (fence-start (match-beginning 0)) (beg (point)))
            (when (re-search-forward (concat "^" (regexp-quote fence) "[ \t]*$") nil t)
              (setq found (cons beg (match-beginning 0)))
              (when (<= fence-start at (match-end 0)) (goto-char (point-max))))))
        (or found (user-error "There is no code block in this buffer"))))))

(defun jumpseat-ask--call-with-code (callback)
  "Call CALLBACK with the code of the block at point, or else of the last one.
If the code may contain escaped lines, the daemon removes the escapes."
  (let* ((block (jumpseat-ask--find-block))
         (code (save-restriction
                 (widen)
                 (buffer-substring-no-properties (car block) (cdr block)))))
    (if (not (string-match-p (jumpseat--format-escaped (jumpseat--format-here)) code))
        (funcall callback code)
      (jumpseat--transcript-parse
       ;; The full stops protect blank lines at both ends of the code.
       (concat (jumpseat--transcript-front-matter-text) (jumpseat-ask--find-heading (car block))
               "\n\n.\n" code ".\n")
       (jumpseat--make-callback
        (lambda (conversation)
          (let ((blocks (plist-get (elt (plist-get conversation :messages) 0) :content)))
            (funcall callback (substring (plist-get (elt blocks 0) :text) 2 -1)))))))))

(defun jumpseat-ask--find-heading (position)
  "Return the heading above POSITION, on which the escapes of a text depend."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char position)
      (if (re-search-backward (jumpseat--transcript-heading-regexp) nil t)
          (match-string-no-properties 0)
        (jumpseat--transcript-question)))))

(defun jumpseat-copy-code ()
  "Copy the code block at point, or the last one."
  (interactive)
  (jumpseat-ask--call-with-code
   (lambda (code)
     (kill-new code)
     (jumpseat--say "Copied %d lines." (length (split-string code "\n" t))))))

(defun jumpseat-insert-code ()
  "Insert the code block at point, or the last one, into another buffer.
The other buffer is the most recently used one that is not a chat."
  (interactive)
  (let ((target (or (jumpseat--chat-source)
                    (user-error "No file is open beside the chat: open one to insert the code"))))
    (with-current-buffer target (barf-if-buffer-read-only))
    (jumpseat-ask--call-with-code
     (lambda (code)
       (when (buffer-live-p target)
         (with-current-buffer target
           (let ((window (get-buffer-window target t)))
             (when window (goto-char (window-point window)))
             (insert code)
             (when window (set-window-point window (point)))))
         (jumpseat--say "Inserted into %s." (buffer-name target)))))))

(provide 'jumpseat-ask)
;;; jumpseat-ask.el ends here
