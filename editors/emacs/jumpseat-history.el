;;; jumpseat-history.el --- Kept conversations  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The command that lets the user pick a kept conversation, and continue,
;; preview, fork, rename or delete it.

;;; Code:

(require 'jumpseat-chat)
(require 'jumpseat-ui)

(defun jumpseat-history--make-item (row)
  "Convert ROW of a list of conversations to an item for `jumpseat--ui-choose'."
  (let ((turns (plist-get row :turns)))
    (list (plist-get row :title) row
          (string-join
           (delq nil (list (string-replace "T" " " (substring (plist-get row :updatedAt) 0 16))
                           (format "%d turn%s" turns (if (eql turns 1) "" "s"))
                           (plist-get row :model)))
           " · "))))

(defun jumpseat-history--number-names (items)
  "Return ITEMS, with a number after each name that has occurred before."
  (let (seen)
    (mapcar (lambda (item)
              (let ((name (car item)) (number 1))
                (while (member name seen)
                  (setq name (format "%s <%d>" (car item) (setq number (1+ number)))))
                (push name seen)
                (cons name (cdr item))))
            items)))

(defun jumpseat-history--read (id callback)
  "Call CALLBACK with the text of the kept conversation ID, and its data."
  (jumpseat--rpc-request
   "conversations/get" (list :id id)
   (jumpseat--make-callback
    (lambda (conversation)
      (jumpseat--rpc-request
       "transcript/render"
       (list :messages (plist-get conversation :messages) :model (plist-get conversation :model)
             :system (plist-get conversation :system)
             :settings (plist-get conversation :settings) :conversationId id
             :trimAnswers t :format (symbol-name jumpseat-chat-format))
       (jumpseat--make-callback
        (lambda (result) (funcall callback (plist-get result :text) conversation))))))))

(defun jumpseat-history--find-conversation (id)
  "Return the position in this chat of the property that names ID, or nil.
ID is the id of a kept conversation that the chat or one of its branches may
continue."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (point-min))
      (let ((format (jumpseat--format-here)))
        (re-search-forward
         (format "^%sconversation:[ \t]+[\"']?%s[\"']?[ \t]*$" (jumpseat--format-property format)
                 (regexp-quote id))
         (when (string-empty-p (jumpseat--format-property format))
           (jumpseat--transcript-front-matter-end))
         t)))))

(defun jumpseat-history--continue (id)
  "Show the open chat of the kept conversation ID, or else open one."
  (if-let ((open (seq-find (lambda (chat)
                             (with-current-buffer chat
                               (jumpseat-history--find-conversation id)))
                           (jumpseat--chat-list))))
      (progn
        (jumpseat--chat-show open)
        (jumpseat-history--go-to-branch (jumpseat-history--find-conversation id)))
    (jumpseat-history--open id)))

(defun jumpseat-history--go-to-branch (position)
  "Go to the end of the branch that has POSITION in its properties.
If POSITION is not in a branch, go to the end of the chat."
  (goto-char position)
  (let ((headlines (jumpseat--outline-list-headlines)))
    (goto-char (if headlines (jumpseat--outline-find-end (car headlines)) (point-max)))
    (unless (eobp) (backward-char))))

(defun jumpseat-history--open (id)
  "Open the kept conversation ID as a new chat."
  (let ((format (jumpseat--format-named jumpseat-chat-format)))
    (jumpseat-history--read
     id
     (lambda (text conversation)
       (jumpseat--transcript-fetch-headings
        (plist-get conversation :model)
        (jumpseat--make-callback
         (lambda (headings)
           (jumpseat--chat-show
            (jumpseat--chat-new
             ;; After a failed turn, the last message is the question itself.
             (if (equal "user" (plist-get (jumpseat--transcript-find-last conversation) :role)) text
               (concat text "\n" (car headings) "\n\n"))
             format))))
        format)))))

(defun jumpseat-history--preview (row)
  "Show the conversation of ROW."
  (jumpseat-history--read
   (plist-get row :id)
   (lambda (text _conversation)
     (with-current-buffer (jumpseat--ui-show "*jumpseat conversation*" (list text))
       (goto-char (point-min))))))

(defun jumpseat-history--delete (row)
  "Delete the conversation of ROW after a confirmation."
  (when (yes-or-no-p (format "Delete \"%s\"? " (plist-get row :title)))
    (jumpseat--rpc-request
     "conversations/delete" (list :id (plist-get row :id))
     (jumpseat--make-callback
      (lambda (result)
        (jumpseat--say (if (jumpseat--true-p (plist-get result :deleted))
                           "The conversation was deleted."
                         "The conversation was already deleted.")))))))

(defun jumpseat-history--rename (row)
  "Rename the conversation of ROW."
  (jumpseat--rpc-request
   "conversations/rename"
   (list :id (plist-get row :id) :title (read-string "Title: " (plist-get row :title)))
   (jumpseat--make-callback
    (lambda (renamed)
      (jumpseat--say "The conversation was renamed to \"%s\"." (plist-get renamed :title))))))

(defun jumpseat-history--fork (row)
  "Open a fork of the conversation of ROW."
  (jumpseat--rpc-request
   "conversations/fork" (list :id (plist-get row :id))
   (jumpseat--make-callback
    (lambda (fork) (jumpseat-history--continue (plist-get fork :id))))))

(defun jumpseat-history--choose-action (row)
  "Ask the user what to do with the conversation of ROW."
  (let ((actions `(("Continue" ,(lambda (row) (jumpseat-history--continue (plist-get row :id))))
                   ("Preview" jumpseat-history--preview)
                   ("Fork" jumpseat-history--fork)
                   ("Rename" jumpseat-history--rename)
                   ("Delete" jumpseat-history--delete))))
    (jumpseat--ui-offer (plist-get row :title) actions (lambda (action) (funcall action row)))))

(defun jumpseat-history--pick (params)
  "Let the user pick one of the conversations selected by PARAMS."
  (jumpseat--rpc-request
   "conversations/list" params
   (jumpseat--make-callback
    (lambda (result)
      (let ((rows (plist-get result :conversations))
            (cursor (plist-get result :nextCursor)))
        (if (seq-empty-p rows) (jumpseat--say "No conversation was found.")
          (jumpseat--ui-choose
           "Conversation"
           (append (jumpseat-history--number-names (mapcar #'jumpseat-history--make-item rows))
                   (when cursor '(("… more" more ""))))
           'jumpseat-conversation
           (lambda (row)
             (if (eq row 'more)
                 (jumpseat-history--pick (append (list :cursor cursor) params))
               (jumpseat-history--choose-action row))))))))))

(defun jumpseat-history (&optional words here)
  "Pick a kept conversation: continue, preview, fork, rename or delete it.
With a prefix argument, read WORDS that the conversation must contain.  With two
prefix arguments, or if HERE is non-nil, offer only the conversations of this
project or directory."
  (interactive
   (list (when (equal current-prefix-arg '(4)) (read-string "Search conversations: "))
         (equal current-prefix-arg '(16))))
  (when (and here (file-remote-p default-directory))
    (user-error "This directory is on another machine, where no conversations are kept"))
  (jumpseat-history--pick
   (list :query (unless (or (null words) (string-empty-p words)) words)
         :cwd (when here (or (jumpseat--workspace-folder) (expand-file-name default-directory))))))

(provide 'jumpseat-history)
;;; jumpseat-history.el ends here
