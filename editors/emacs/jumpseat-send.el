;;; jumpseat-send.el --- Sending a chat  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The question is read, its prompt and its references are put in, and the answer is written below.

;;; Code:

(require 'jumpseat-answer)
(require 'jumpseat-models)
(require 'jumpseat-references)
(require 'jumpseat-turn)

(defvar jumpseat-turn-started-hook nil
  "Functions that are called without arguments in a chat when a turn starts.")

(defvar jumpseat-turn-ended-functions nil
  "Functions that are called in a chat when a turn has ended.
Their arguments are the error or nil, and the stop reason or nil.")

(defvar-local jumpseat-send--turn nil "The turn that runs in this chat.")
(defvar-local jumpseat-send--preparing nil
  "While the question of this chat is being read, an object that stands for it.")
(defvar-local jumpseat-send--answer nil "The answer that is being written in this chat.")
(defvar-local jumpseat-send--failed nil "Whether the last answer of this chat ended with an error.")

(defun jumpseat-send-running-p ()
  "Whether an answer is requested or written in this buffer."
  (or jumpseat-send--turn jumpseat-send--preparing))

(defun jumpseat-send-stop ()
  "Stop the answer of this buffer, and return whether there was one."
  (cond (jumpseat-send--turn
         (jumpseat-view-update :state 'stopping)
         (jumpseat-turn-stop jumpseat-send--turn)
         t)
        (jumpseat-send--preparing
         (setq jumpseat-send--preparing nil)
         (jumpseat-view-update :state nil)
         t)))

(defun jumpseat-send--watch (&rest _)
  "Stop an answer that the user has undone or deleted: the rest is not wanted."
  (when (and jumpseat-send--answer
             (not (jumpseat-writer-live-p (jumpseat-answer-writer jumpseat-send--answer))))
    (setq jumpseat-send--answer nil)
    (jumpseat-send-stop)))

(defun jumpseat-send--idle ()
  "Show that this chat is idle."
  (setq jumpseat-send--turn nil
        jumpseat-send--preparing nil)
  (remove-hook 'after-change-functions #'jumpseat-send--watch t)
  (jumpseat-view-update :state nil :detail nil))

(defun jumpseat-send--refuse (err)
  "Show ERR at the end of this chat, which was not sent."
  (jumpseat-send--idle)
  (jumpseat-view-clear)
  (save-restriction
    (widen)
    (save-excursion
      (goto-char (point-max))
      (skip-chars-backward " \t\n")
      (jumpseat-view-error (point) err)))
  (run-hook-with-args 'jumpseat-turn-ended-functions err nil))

(defun jumpseat-send--step (preparing next)
  "Return a callback for a request of the question PREPARING of this chat.
It calls NEXT with the result in this buffer, or shows the error, which ends the
preparation.  It does nothing if the user has stopped it."
  (let ((buffer (current-buffer)))
    (lambda (err result)
      (when (and (buffer-live-p buffer)
                 (eq preparing (buffer-local-value 'jumpseat-send--preparing buffer)))
        (with-current-buffer buffer
          (if err (jumpseat-send--refuse err) (funcall next result)))))))

(defun jumpseat-send--close (answer headings outcome err)
  "Write the end of ANSWER into this chat, and the next of HEADINGS.
OUTCOME is that of the turn, and ERR its error or nil."
  (let ((empty (not (jumpseat-answer-written answer))))
    (setq jumpseat-send--answer nil
          jumpseat-send--failed (and err (not empty)))
    (when empty (jumpseat-answer-remove answer))
    (jumpseat-answer-close answer (if empty "" (concat "\n\n" (car headings) "\n\n"))
                           err (plist-get outcome :cancelled))
    (jumpseat-send--idle)
    (jumpseat-view-update :usage (jumpseat-answer-usage answer))))

(defun jumpseat-send--finish (buffer turn answer headings outcome)
  "End TURN of the chat in BUFFER with OUTCOME, ANSWER and the next of HEADINGS."
  (let* ((result (plist-get outcome :result))
         (err (and (not (plist-get outcome :cancelled)) (plist-get outcome :error))))
    (when (plist-get result :usage)
      (setf (jumpseat-answer-usage answer) (plist-get result :usage)))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        ;; A buffer that was reverted may have another turn already.
        (when (eq turn jumpseat-send--turn)
          (jumpseat-send--close answer headings outcome err))
        (run-hook-with-args 'jumpseat-turn-ended-functions err (plist-get result :stopReason))))))

(defun jumpseat-send--pin (answer conversation head)
  "Name the model of ANSWER, and its kept conversation, in the front matter.
The chat goes on with what it began with, also when the default changes.
CONVERSATION is what was sent, with HEAD as the front matter's text: one that
the user has changed since stays."
  (let ((writer (jumpseat-answer-writer answer))
        (model (plist-get conversation :model))
        (id (jumpseat-answer-conversation answer)))
    (unless (and model (equal id (plist-get conversation :conversationId)))
      (jumpseat-transcript-front-matter
       (append (list :model (or model (jumpseat-answer-model answer)) :conversationId id)
               conversation)
       (lambda (err text)
         (when (and (not err) (jumpseat-writer-live-p writer))
           (with-current-buffer (jumpseat-writer-buffer writer)
             (when (equal head (jumpseat-transcript-front-matter-text))
               (jumpseat-writer-edit writer (jumpseat-transcript-put-front-matter text))))))))))

(defun jumpseat-send--begin (conversation headings)
  "Send CONVERSATION, and write the answer into this buffer, with HEADINGS."
  (let* ((buffer (current-buffer))
         (answer (jumpseat-answer-new (cdr headings)))
         (head (jumpseat-transcript-front-matter-text))
         (turn nil)
         (pinned nil))
    (setq jumpseat-send--answer answer
          jumpseat-send--failed nil)
    (add-hook 'after-change-functions #'jumpseat-send--watch nil t)
    (jumpseat-view-update :state 'waiting)
    (setq turn
          (jumpseat-turn-start
           "chat/start"
           (list :messages (plist-get conversation :messages)
                 :system (plist-get conversation :system)
                 :model (plist-get conversation :model)
                 :settings (plist-get conversation :settings)
                 :conversationId (plist-get conversation :conversationId)
                 :keep (if jumpseat-keep t :json-false)
                 :transcript t)
           (lambda (deltas)
             (jumpseat-answer-write answer deltas)
             (when (and (not pinned) (jumpseat-answer-model answer) (buffer-live-p buffer))
               (setq pinned t)
               (jumpseat-send--pin answer conversation head)))
           (lambda (outcome) (jumpseat-send--finish buffer turn answer headings outcome)))
          jumpseat-send--turn turn
          jumpseat-send--preparing nil)
    (run-hooks 'jumpseat-turn-started-hook)))

(defun jumpseat-send--section (conversation)
  "Where the last message of CONVERSATION is in this buffer: a cons of positions."
  (let* ((last (1- (length (plist-get conversation :messages))))
         (turn (seq-find (lambda (each) (eql (plist-get each :message) last))
                         (plist-get conversation :turns))))
    (cons (jumpseat-transcript-line (plist-get turn :startLine))
          (jumpseat-transcript-line (plist-get turn :endLine)))))

(defun jumpseat-send--choose-model (conversation)
  "Choose the model and remove the question if that of CONVERSATION is /model.
Return whether it was."
  (let* ((content (plist-get (jumpseat-transcript-last conversation) :content))
         (text (or (and (= 1 (length content)) (plist-get (elt content 0) :text)) "")))
    (when (string-match "\\`/model[ \t]*\\(\\S-*\\)[ \t\n]*\\'" text)
      (let ((name (match-string 1 text))
            (section (jumpseat-send--section conversation)))
        (save-excursion
          (goto-char (car section))
          (forward-line)
          (delete-region (point) (cdr section))
          (insert "\n"))
        (goto-char (point-max))
        (jumpseat-send--idle)
        (jumpseat-model (unless (string-empty-p name) name))
        t))))

(defun jumpseat-send--again (conversation)
  "Remove the partial answer that CONVERSATION ends with, and ask again.
One step of undo brings it back."
  (let ((answer (car (jumpseat-send--section conversation))))
    (setq jumpseat-send--failed nil)
    (undo-boundary)
    (save-restriction
      (widen)
      (delete-region answer (point-max)))
    (undo-boundary)
    (jumpseat-send--idle)
    (jumpseat-send-start)))

(defun jumpseat-send--read (conversation step)
  "Go on with CONVERSATION, which is the text of this chat.
STEP makes the callbacks of requests; see `jumpseat-send--step'."
  (let ((role (plist-get (jumpseat-transcript-last conversation) :role)))
    (cond
     ((and jumpseat-send--failed (equal role "assistant"))
      (jumpseat-send--again conversation))
     ((not (equal role "user"))
      (jumpseat-send--idle)
      (jumpseat-say "There is no question: write one at the end of the chat."))
     ((jumpseat-send--choose-model conversation))
     (t
      (jumpseat-view-clear)
      (jumpseat-references-expand
       conversation (jumpseat-send--section conversation) step
       (lambda (expanded)
         (jumpseat-transcript-headings
          (plist-get expanded :model)
          (funcall step (lambda (headings) (jumpseat-send--begin expanded headings))))))))))

(defun jumpseat-send-start ()
  "Send this chat, unless it is being answered."
  (if (jumpseat-send-running-p)
      (jumpseat-say "An answer is being written; %s stops it."
                    (substitute-command-keys "\\[jumpseat-stop]"))
    (jumpseat-view-update :state 'preparing)
    (let ((step (apply-partially #'jumpseat-send--step
                                 (setq jumpseat-send--preparing (list 'question)))))
      (jumpseat-transcript-parse
       (jumpseat-transcript-text)
       (funcall step (lambda (conversation) (jumpseat-send--read conversation step)))))))

(provide 'jumpseat-send)
;;; jumpseat-send.el ends here
