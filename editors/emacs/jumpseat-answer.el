;;; jumpseat-answer.el --- Write answers into chats  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Writes answers into chats.  The daemon's deltas contain the text to insert, in
;; the format of the chat.

;;; Code:

(require 'jumpseat-calls)
(require 'jumpseat-stream)
(require 'jumpseat-view)
(require 'jumpseat-workspace)

(cl-defstruct (jumpseat--answer (:constructor jumpseat-answer--make) (:copier nil))
  writer
  lead                       ; the heading with its blank lines
  overlay                    ; the label at the heading
  (turn nil)                 ; the turn, once it has started
  (folded-end nil)           ; the end of the last folded call or result
  (written nil)              ; whether text follows the heading
  (thinking nil)             ; the start of an unfinished thinking block
  (notices nil)              ; warnings and citations, the newest first
  model                      ; the provider and model that answer
  usage
  conversation)              ; the kept conversation that the turn belongs to

(defun jumpseat--answer-new (heading &optional branch)
  "Start an answer with HEADING below the last text in BRANCH of this buffer.
BRANCH is nil outside of branches."
  (let* ((end (save-restriction (widen) (jumpseat--outline-end branch)))
         (last (save-excursion
                 (save-restriction
                   (widen)
                   (goto-char end)
                   (skip-chars-backward " \t\n")
                   (point))))
         (writer (jumpseat--writer-new last branch))
         (answer (jumpseat-answer--make :writer writer :lead (concat "\n\n" heading "\n\n")))
         (at-end (seq-filter (lambda (window)
                               (<= last (window-point window) (if (= end (1+ (buffer-size))) end (1- end))))
                             (get-buffer-window-list nil nil t))))
    ;; Blank lines that stayed here would end up below the answer.
    (jumpseat--writer-edit writer (jumpseat--outline-clear last branch))
    (dolist (window at-end)
      (set-window-point window last))
    (jumpseat--writer-append writer (jumpseat--answer-lead answer))
    ;; The text below is fontified only when it is complete, but the heading
    ;; should look like other headings from the start.
    (save-restriction
      (widen)
      (font-lock-flush last (jumpseat--writer-end writer)))
    (jumpseat-answer--show-label answer "waiting …")
    answer))

(defun jumpseat-answer--find-heading (answer)
  "Return the position of the heading of ANSWER."
  (+ (jumpseat--writer-start (jumpseat--answer-writer answer)) 2))

(defun jumpseat--answer-marker (answer)
  "Return a marker at the heading of ANSWER."
  (with-current-buffer (jumpseat--writer-buffer (jumpseat--answer-writer answer))
    (copy-marker (jumpseat-answer--find-heading answer))))

(defun jumpseat-answer--show-label (answer text)
  "Show TEXT after the heading of ANSWER."
  (let ((overlay (jumpseat--answer-overlay answer)))
    (setf (jumpseat--answer-overlay answer)
          (jumpseat--view-show-label (jumpseat-answer--find-heading answer) text
                                     (and overlay (overlay-buffer overlay) overlay)))))

(defun jumpseat-answer--restart (answer)
  "Discard the text of ANSWER, because the provider has started it again."
  (jumpseat--writer-replace (jumpseat--answer-writer answer) (jumpseat--answer-lead answer))
  (setf (jumpseat--answer-written answer) nil
        (jumpseat--answer-thinking answer) nil
        (jumpseat--answer-folded-end answer) nil))

(defun jumpseat-answer--describe-retry (delta)
  "Describe the wait before a retry, from DELTA."
  (format "attempt %d of %d in %.1f s: %s" (plist-get delta :attempt)
          (plist-get delta :maxAttempts) (/ (plist-get delta :delayMs) 1000.0)
          (jumpseat--get delta :error :message)))

(defun jumpseat-answer--describe-rules (delta)
  "List the rule files that DELTA names, or return nil."
  (let ((rules (plist-get delta :rules)))
    (unless (seq-empty-p rules) (concat "rules: " (string-join rules ", ")))))

(defun jumpseat-answer--describe-progress (delta)
  "Describe progress unrelated to the answer, such as loading a local model.
DELTA is a value of `$/progress'."
  (let ((text (or (plist-get delta :message) (plist-get delta :title)))
        (percentage (plist-get delta :percentage)))
    (cond ((equal (plist-get delta :kind) "end") nil)
          ((and text percentage) (format "%s %d %%" text percentage))
          (t text))))

(defun jumpseat--answer-write (answer delta)
  "Write DELTA of ANSWER, and update the status of its buffer."
  (when (jumpseat--writer-live-p (jumpseat--answer-writer answer))
    (with-current-buffer (jumpseat--writer-buffer (jumpseat--answer-writer answer))
      (when (and (equal (plist-get delta :type) "response") (jumpseat--answer-written answer))
        (jumpseat-answer--restart answer))
      (when-let ((text (plist-get delta :transcript)))
        (jumpseat--writer-append (jumpseat--answer-writer answer) text)
        (setf (jumpseat--answer-written answer) t))
      (jumpseat-answer--handle answer delta))))

(defun jumpseat-answer--handle (answer delta)
  "Update the display of ANSWER in this buffer after the text of DELTA is written."
  (pcase (plist-get delta :type)
    ("start"
     (setf (jumpseat--answer-model answer)
           (concat (plist-get delta :provider) ":" (plist-get delta :model))
           (jumpseat--answer-conversation answer) (plist-get delta :conversationId))
     (jumpseat--view-update :state 'waiting :model (jumpseat--answer-model answer) :detail nil
                            :rules (jumpseat-answer--describe-rules delta)))
    ("retry"
     (jumpseat--view-update :state 'retrying :detail (jumpseat-answer--describe-retry delta)))
    ("progress"
     (jumpseat--view-update :detail (jumpseat-answer--describe-progress delta)))
    ("text_start"
     (jumpseat-answer--show-label answer "…")
     (jumpseat--view-update :state 'streaming :detail nil))
    ("thinking_start"
     (jumpseat-answer--show-label answer "thinking …")
     (jumpseat--view-update :state 'thinking :detail nil)
     ;; A block that starts while the block above it is unfinished has no text
     ;; yet, so there is nothing to fold.
     (when (plist-get delta :transcript)
       (setf (jumpseat--answer-thinking answer)
             (copy-marker (- (jumpseat--writer-end (jumpseat--answer-writer answer))
                             (length (jumpseat--format-thinking (jumpseat--format-here)))
                             ;; The line ending, and a blank line below it.
                             2)))))
    ((or "thinking_done" "done")
     (jumpseat-answer--fold answer)
     (jumpseat-answer--fold-calls answer))
    ((or "tool_use_start" "tool_use_done" "block_done" "tool_approval" "tool_status")
     (jumpseat-answer--show-call answer delta))
    ("warning"
     ;; A branch is always a fork, so do not warn about it.
     (unless (and (equal (plist-get delta :code) "conversation_forked")
                  (jumpseat--transcript-branched-p))
       (push (plist-get delta :message) (jumpseat--answer-notices answer))))
    ("citation"
     (when (plist-get delta :url)
       (push (string-join (delq nil (list (plist-get delta :title) (plist-get delta :url))) " ")
             (jumpseat--answer-notices answer))))
    ("usage"
     (setf (jumpseat--answer-usage answer) (plist-get delta :usage))
     (jumpseat--view-update :usage (plist-get delta :usage)))))

(defun jumpseat-answer--fold (answer)
  "Fold the complete thinking block of ANSWER."
  (when-let ((start (jumpseat--answer-thinking answer)))
    (jumpseat--view-fold-thinking start (jumpseat--writer-end (jumpseat--answer-writer answer)))
    (set-marker start nil))
  (setf (jumpseat--answer-thinking answer) nil))

(defun jumpseat-answer--fold-calls (answer)
  "Fold each new call and result of ANSWER."
  (let ((writer (jumpseat--answer-writer answer)))
    (setf (jumpseat--answer-folded-end answer)
          (copy-marker (jumpseat--calls-fold (or (jumpseat--answer-folded-end answer)
                                                 (jumpseat--writer-start writer))
                                             (jumpseat--writer-end writer))))))

(defun jumpseat-answer--show-call (answer delta)
  "Show DELTA of ANSWER, which is about a tool call."
  (pcase (plist-get delta :type)
    ("tool_approval"
     (jumpseat--calls-ask (jumpseat--answer-turn answer) delta
                          (jumpseat--writer-end (jumpseat--answer-writer answer))))
    ("tool_status"
     (jumpseat--calls-update delta)
     ;; The call may have changed files that Emacs shows.
     (when-let ((folder (and (member (plist-get delta :status) '("completed" "failed"))
                             (jumpseat--workspace-folder))))
       (jumpseat--workspace-refresh folder)))
    (_
     ;; A block that arrives whole can be of another type, such as an image.
     (when (member (jumpseat--get delta :content :type) '(nil "tool_use" "tool_result"))
       (jumpseat-answer--show-label answer "running tools …")
       (jumpseat--view-update :state 'calling :detail nil))
     (jumpseat-answer--fold-calls answer))))

(defun jumpseat--answer-remove (answer)
  "Remove ANSWER, so that its question can be sent again."
  (when (jumpseat--writer-live-p (jumpseat--answer-writer answer))
    (delete-overlay (jumpseat--answer-overlay answer))
    (jumpseat--writer-replace (jumpseat--answer-writer answer) "")))

(defun jumpseat--answer-close (answer after err stopped)
  "End ANSWER: show its model, its notices and ERR, and append AFTER.
AFTER is the text below the answer; it is empty if the model wrote nothing.
STOPPED is non-nil if the user stopped the answer."
  (let ((writer (jumpseat--answer-writer answer)))
    (when (jumpseat--writer-live-p writer)
      (when (jumpseat--answer-thinking answer)
        ;; The daemon ended before it could close the block.
        (jumpseat--writer-append
         writer (format "\n\n%s\n" (with-current-buffer (jumpseat--writer-buffer writer)
                                    (jumpseat--format-thinking-end (jumpseat--format-here)))))
        (jumpseat-answer--fold answer))
      (with-current-buffer (jumpseat--writer-buffer writer)
        (jumpseat--calls-end)
        (let ((end (marker-position (jumpseat--writer-end writer))))
          (cond ((not (string-empty-p after))
                 (jumpseat-answer--show-label
                  answer (concat (jumpseat--view-summary (jumpseat--answer-model answer)
                                                         (jumpseat--answer-usage answer))
                                 (and stopped " · stopped"))))
                (stopped (jumpseat--view-show-below end "Stopped before the answer began."
                                                    'jumpseat-note))
                ((not err) (jumpseat--view-show-below end "The model returned no text." 'warning)))
          (dolist (notice (reverse (jumpseat--answer-notices answer)))
            (jumpseat--view-show-below end notice 'warning))
          (when err (jumpseat--view-show-error end err))))
      (jumpseat--writer-append writer after)
      (jumpseat--writer-close writer))))

(provide 'jumpseat-answer)
;;; jumpseat-answer.el ends here
