;;; jumpseat-send.el --- Send chats  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Parses the question, expands its prompt and its references, and writes the
;; answer below.

;;; Code:

(require 'jumpseat-answer)
(require 'jumpseat-models)
(require 'jumpseat-references)
(require 'jumpseat-tools)
(require 'jumpseat-turn)
(require 'jumpseat-workspace)

(defcustom jumpseat-turn-started-hook nil
  "Functions that are called without arguments in a chat when a turn starts."
  :type 'hook
  :group 'jumpseat)

(defcustom jumpseat-turn-ended-functions nil
  "Functions that are called in a chat when a turn has ended.
Their arguments are the error or nil, and the stop reason or nil."
  :type 'hook
  :group 'jumpseat)

(defvar jumpseat--turn-ended-functions nil
  "The package's own functions that are called when a turn has ended.
They run before `jumpseat-turn-ended-functions', whose value is the user's.")

(defvar jumpseat--turn-sent-functions nil
  "The package's own functions that are called when a question is sent.
Their arguments are the position of the question (of its heading, if it has
one), and the conversation.")

(defvar-local jumpseat--send-question nil
  "A marker at the heading of the question that was sent last.")

(defvar-local jumpseat--send-branch nil
  "The branch of the question that was sent last, or nil outside of branches.")

(defvar-local jumpseat-send--turn nil "The running turn of this chat.")
(defvar-local jumpseat-send--preparing nil
  "An object that identifies the question being prepared, or nil.")
(defvar-local jumpseat-send--answer nil "The answer being written here.")
(defvar-local jumpseat-send--failed nil
  "A marker at the last answer in this chat, if it ended with an error.")

(defun jumpseat--send-running-p ()
  "Whether an answer in this buffer is being prepared or written."
  (or jumpseat-send--turn jumpseat-send--preparing))

(defun jumpseat--send-answering-p (heading)
  "Whether the answer whose heading is at the position HEADING is being written."
  (and jumpseat-send--answer
       (equal heading (marker-position (jumpseat--answer-marker jumpseat-send--answer)))))

(defun jumpseat--send-stop ()
  "Stop the answer in this buffer, and return whether there was one."
  (cond (jumpseat-send--turn
         (jumpseat--view-update :state 'stopping)
         (jumpseat--turn-stop jumpseat-send--turn)
         t)
        (jumpseat-send--preparing
         (setq jumpseat-send--preparing nil)
         (jumpseat--view-update :state nil)
         t)))

(defun jumpseat-send--watch (&rest _)
  "Stop an answer that the user has undone or deleted."
  (when (and jumpseat-send--answer
             (not (jumpseat--writer-live-p (jumpseat--answer-writer jumpseat-send--answer))))
    (setq jumpseat-send--answer nil)
    (jumpseat--send-stop)))

(defun jumpseat-send--reset ()
  "Reset this chat to the state in which nothing is running."
  (setq jumpseat-send--turn nil
        jumpseat-send--preparing nil)
  (remove-hook 'after-change-functions #'jumpseat-send--watch t)
  (jumpseat--view-update :state nil :detail nil))

(defun jumpseat-send--report-end (err reason)
  "Run the hooks for the end of a turn with ERR or nil, and the stop REASON."
  (run-hook-with-args 'jumpseat--turn-ended-functions err reason)
  (run-hook-with-args 'jumpseat-turn-ended-functions err reason))

(defun jumpseat-send--fail (err)
  "Show ERR below this chat's question, which was not sent."
  (jumpseat-send--reset)
  (jumpseat--view-clear)
  (save-restriction
    (widen)
    (save-excursion
      ;; If the properties of a branch could not be read, the branch is unknown:
      ;; show the error at point.
      (unless (and (null jumpseat--send-branch) (jumpseat--transcript-in-branch-p))
        (goto-char (jumpseat--outline-end jumpseat--send-branch))
        (skip-chars-backward " \t\n"))
      (jumpseat--view-show-error (point) err)))
  (jumpseat-send--report-end err nil))

(defun jumpseat-send--make-step (preparing next)
  "Return a callback for a request during the preparation PREPARING.
In this buffer, it calls NEXT with the result, or shows the error and ends the
preparation.  It does nothing if the user has stopped the preparation."
  (let ((buffer (current-buffer)))
    (lambda (err result)
      (when (and (buffer-live-p buffer)
                 (eq preparing (buffer-local-value 'jumpseat-send--preparing buffer)))
        (with-current-buffer buffer
          (if err (jumpseat-send--fail err) (funcall next result)))))))

(defun jumpseat-send--close (answer headings outcome err)
  "Write the end of ANSWER and the heading of the next question into this chat.
HEADINGS is a cons of the headings of the user and the assistant.  OUTCOME is
the turn's outcome, and ERR its error or nil."
  (let ((empty (not (jumpseat--answer-written answer))))
    (setq jumpseat-send--answer nil
          jumpseat-send--failed (and err (not empty) (jumpseat--answer-marker answer)))
    (when empty (jumpseat--answer-remove answer))
    (jumpseat--answer-close answer (if empty "" (concat "\n\n" (car headings) "\n\n"))
                            err (plist-get outcome :cancelled))
    (jumpseat-send--reset)
    (when (equal "max_rounds" (jumpseat--get outcome :result :stopReason))
      (jumpseat--say "The model reached a limit on tool use. %s lets it continue."
                     (substitute-command-keys "\\[jumpseat-send]")))
    (jumpseat--view-update :usage (jumpseat--answer-usage answer))))

(defun jumpseat-send--finish (buffer turn answer headings outcome)
  "Handle the end of TURN in the chat in BUFFER.
ANSWER, HEADINGS and OUTCOME are as for `jumpseat-send--close'."
  (let* ((result (plist-get outcome :result))
         (err (and (not (plist-get outcome :cancelled)) (plist-get outcome :error))))
    (when (plist-get result :usage)
      (setf (jumpseat--answer-usage answer) (plist-get result :usage)))
    (when (buffer-live-p buffer)
      (with-current-buffer buffer
        ;; A reverted buffer may already have another turn.
        (when (eq turn jumpseat-send--turn)
          (jumpseat-send--close answer headings outcome err))
        (jumpseat-send--report-end err (plist-get result :stopReason))))))

(defun jumpseat-send--update-front-matter (answer conversation head)
  "Write ANSWER's model and kept conversation to the front matter.
The chat, or its branch, then continues with both, even if the default model
changes.  CONVERSATION was sent, and HEAD is the text of its front matter.  If
the user has changed the front matter since, leave it unchanged."
  (let* ((writer (jumpseat--answer-writer answer))
         (branch (plist-get conversation :branch))
         (model (plist-get conversation :model))
         (id (jumpseat--answer-conversation answer))
         (own (if branch (jumpseat--branch-own branch) conversation)))
    (unless (and model (equal id (plist-get own :conversationId)))
      (jumpseat--transcript-render-front-matter
       (append (list :conversationId id) (unless model (list :model (jumpseat--answer-model answer)))
               (jumpseat--transcript-list-own conversation conversation))
       (lambda (err text)
         ;; Accept a closed writer: a short answer may already be complete.
         (when (and (not err) (jumpseat--writer-kept-p writer))
           (with-current-buffer (jumpseat--writer-buffer writer)
             (when (equal head (jumpseat--transcript-front-matter-text branch))
               (jumpseat--writer-edit writer
                 (jumpseat--transcript-put-front-matter text branch))))))))))

(defun jumpseat-send--find-question (heading)
  "Return the start of this chat's last question, which has the heading HEADING.
If there is no such heading, the question starts after the front matter of the
chat or of its branch."
  (save-excursion
    (save-restriction
      (widen)
      (let ((first (jumpseat--transcript-front-matter-end jumpseat--send-branch)))
        (goto-char (jumpseat--outline-end jumpseat--send-branch))
        (unless (re-search-backward (jumpseat--transcript-heading-regexp heading) first t)
          (goto-char first)
          (skip-chars-forward "\n"))
        (point)))))

(defun jumpseat-send--fold-question ()
  "Fold the images and the long context of the question that is sent."
  (save-restriction
    (widen)
    (let ((end (jumpseat--outline-end jumpseat--send-branch)))
      (remove-overlays jumpseat--send-question end 'jumpseat-kind 'fold)
      (jumpseat--calls-fold jumpseat--send-question end))))

(defun jumpseat--send-make-params (conversation)
  "Return the params of `chat/start' for CONVERSATION in this buffer."
  (append (list :messages (plist-get conversation :messages)
                :system (plist-get conversation :system)
                :model (plist-get conversation :model)
                :settings (plist-get conversation :settings)
                :conversationId (plist-get conversation :conversationId)
                :keep (if jumpseat-keep t :json-false)
                :transcript (jumpseat--format-name (jumpseat--format-here)))
          (jumpseat--workspace-params (jumpseat--list (plist-get conversation :daemonTools)))))

(defun jumpseat-send--start-turn (conversation headings)
  "Send CONVERSATION, and write the answer into this buffer, with HEADINGS."
  (setq jumpseat--send-branch (plist-get conversation :branch)
        jumpseat--send-question (copy-marker (jumpseat-send--find-question (car headings))))
  (run-hook-with-args 'jumpseat--turn-sent-functions (marker-position jumpseat--send-question)
                      conversation)
  (jumpseat-send--fold-question)
  (let* ((buffer (current-buffer))
         (answer (jumpseat--answer-new (cdr headings) jumpseat--send-branch))
         (head (jumpseat--transcript-front-matter-text jumpseat--send-branch))
         (turn nil)
         (recorded nil))
    (setq jumpseat-send--answer answer
          jumpseat-send--failed nil)
    (add-hook 'after-change-functions #'jumpseat-send--watch nil t)
    (jumpseat--view-update :state 'waiting)
    (setq turn
          (jumpseat--turn-start
           "chat/start"
           (jumpseat--send-make-params conversation)
           (lambda (delta)
             (jumpseat--answer-write answer delta)
             (when (and (not recorded) (jumpseat--answer-model answer) (buffer-live-p buffer))
               (setq recorded t)
               (jumpseat-send--update-front-matter answer conversation head)))
           (lambda (outcome) (jumpseat-send--finish buffer turn answer headings outcome)))
          jumpseat-send--turn turn
          jumpseat-send--preparing nil)
    (setf (jumpseat--answer-turn answer) turn)
    (run-hooks 'jumpseat-turn-started-hook)))

(defun jumpseat--send-find-section (conversation)
  "Return the bounds in this buffer of the last message of CONVERSATION, as a cons."
  (let* ((last (1- (length (plist-get conversation :messages))))
         (turn (seq-find (lambda (each) (eql (plist-get each :message) last))
                         (plist-get conversation :turns))))
    (cons (jumpseat--outline-find-line (plist-get turn :startLine))
          (jumpseat--outline-find-line (plist-get turn :endLine)))))

(defun jumpseat-send--choose-model (conversation)
  "Handle the last question of CONVERSATION if it is \"/model\".
Remove the question, choose the model, and return t.  Return nil for any other
question."
  (let* ((content (plist-get (jumpseat--transcript-find-last conversation) :content))
         (text (or (and (= 1 (length content)) (plist-get (elt content 0) :text)) "")))
    (when (string-match "\\`/model[ \t]*\\(\\S-*\\)[ \t\n]*\\'" text)
      (let ((name (match-string 1 text))
            (section (jumpseat--send-find-section conversation)))
        (goto-char (car section))
        (when (looking-at-p (jumpseat--transcript-heading-regexp)) (forward-line))
        (delete-region (point) (cdr section))
        (insert "\n")
        ;; If a headline follows, it must stay on a line of its own.
        (unless (eobp) (save-excursion (insert "\n")))
        (jumpseat-send--reset)
        (jumpseat-model (unless (string-empty-p name) name))
        t))))

(defun jumpseat-send--ask-again (conversation)
  "Remove the partial answer at the end of CONVERSATION, and ask again.
One undo step brings the partial answer back."
  (let ((section (jumpseat--send-find-section conversation)))
    (setq jumpseat-send--failed nil)
    (undo-boundary)
    (save-restriction
      (widen)
      (delete-region (car section) (cdr section))
      (jumpseat--transcript-drop-empty-question (plist-get conversation :branch)))
    (undo-boundary)
    (jumpseat-send--reset)
    (jumpseat--send-start)))

(defun jumpseat-send--continuable-p (conversation)
  "Whether CONVERSATION ends with the result of a tool call that the daemon ran.
Its last turn was stopped or reached a limit, and the daemon can go on there."
  (let ((message (jumpseat--transcript-find-last conversation)))
    (and (equal "assistant" (plist-get message :role))
         (equal "tool_result"
                (plist-get (car (last (jumpseat--list (plist-get message :content)))) :type)))))

(defun jumpseat-send--start-after-headings (conversation step)
  "Send CONVERSATION once the headings of its model are known.
STEP makes the callbacks of requests; see `jumpseat-send--make-step'."
  (jumpseat--transcript-fetch-headings
   (plist-get conversation :model)
   (funcall step (lambda (headings) (jumpseat-send--start-turn conversation headings)))
   nil (jumpseat--transcript-level conversation)))

(defun jumpseat-send--continue (conversation step)
  "Send CONVERSATION, the parsed text of this chat, or resume its last turn.
STEP makes the callbacks of requests; see `jumpseat-send--make-step'."
  (let ((role (plist-get (jumpseat--transcript-find-last conversation) :role)))
    (setq jumpseat--send-branch (plist-get conversation :branch))
    (cond
     ((jumpseat-send--continuable-p conversation)
      (jumpseat--view-clear)
      (jumpseat--transcript-drop-empty-question (plist-get conversation :branch))
      (jumpseat-send--start-after-headings conversation step))
     ((and jumpseat-send--failed (equal role "assistant")
           (= jumpseat-send--failed (car (jumpseat--send-find-section conversation))))
      (jumpseat-send--ask-again conversation))
     ((not (equal role "user"))
      (jumpseat-send--reset)
      (jumpseat--say "There is no question: write one at the end of the %s."
                     (if (plist-get conversation :branch) "branch" "chat")))
     ((jumpseat-send--choose-model conversation))
     (t
      (jumpseat--view-clear)
      (jumpseat--references-expand
       conversation (jumpseat--send-find-section conversation) step
       (lambda (expanded) (jumpseat-send--start-after-headings expanded step)))))))

(defun jumpseat--send-start ()
  "Send this chat, or its branch at point, unless it is being answered."
  (if (jumpseat--send-running-p)
      (jumpseat--say "An answer is being written; %s stops it."
                     (substitute-command-keys "\\[jumpseat-stop]"))
    (jumpseat--view-update :state 'preparing)
    (setq jumpseat--send-branch nil)
    (let ((step (apply-partially #'jumpseat-send--make-step
                                 (setq jumpseat-send--preparing (list 'question)))))
      (jumpseat--transcript-when-settled
       (lambda ()
         (jumpseat--transcript-parse-here
          (funcall step (lambda (conversation) (jumpseat-send--continue conversation step)))))))))

(provide 'jumpseat-send)
;;; jumpseat-send.el ends here
