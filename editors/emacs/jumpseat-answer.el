;;; jumpseat-answer.el --- The deltas of an answer as text  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; An answer while it is written into a chat: its blocks as lines of a transcript.

;;; Code:

(require 'jumpseat-stream)
(require 'jumpseat-view)

(defconst jumpseat-answer--thinking "<details><summary>Thinking</summary>\n\n"
  "The beginning of a block of thinking.")

(cl-defstruct (jumpseat-answer (:constructor jumpseat-answer--make) (:copier nil))
  writer
  lead                       ; the text before the first block
  overlay                    ; behind the heading
  (blocks 0)                 ; how many have begun
  (folded nil)               ; whether the last one is folded, and the line below it begun
  (thinking nil)             ; where the block of thinking that is written begins
  (parts nil)                ; the blocks: lists of a type and pieces, the last ones first
  (notices nil)              ; sentences and links, the last one first
  model                      ; the provider and model that answer
  usage
  conversation)              ; the kept conversation that the turn belongs to

(defun jumpseat-answer-new (heading)
  "An answer with HEADING below the last line of this buffer that has text."
  (let* ((last (save-excursion
                 (save-restriction
                   (widen)
                   (goto-char (point-max))
                   (skip-chars-backward " \t\n")
                   (point))))
         (writer (jumpseat-writer-new last))
         (answer (jumpseat-answer--make :writer writer :lead (concat "\n\n" heading "\n\n")))
         (at-end (seq-filter (lambda (window) (>= (window-point window) last))
                             (get-buffer-window-list nil nil t))))
    ;; Blank lines that follow would come behind the answer.
    (jumpseat-writer-edit writer (delete-region last (point-max)))
    (dolist (window at-end)
      (set-window-point window last))
    (jumpseat-writer-append writer (jumpseat-answer-lead answer))
    (jumpseat-answer--label answer "waiting …")
    answer))

(defun jumpseat-answer--heading (answer)
  "The position of the heading of ANSWER."
  (+ (jumpseat-writer-start (jumpseat-answer-writer answer)) 2))

(defun jumpseat-answer--label (answer text)
  "Show TEXT behind the heading of ANSWER."
  (let ((overlay (jumpseat-answer-overlay answer)))
    (setf (jumpseat-answer-overlay answer)
          (jumpseat-view-heading (jumpseat-answer--heading answer) text
                                 (and overlay (overlay-buffer overlay) overlay)))))

(defun jumpseat-answer--begin (answer thinking)
  "Begin a block of ANSWER, of THINKING or of text.
Return what is before it."
  (let ((lead (cond ((= 0 (jumpseat-answer-blocks answer)) "")
                    ((jumpseat-answer-folded answer) "\n")
                    (t "\n\n"))))
    (cl-incf (jumpseat-answer-blocks answer))
    (setf (jumpseat-answer-folded answer) nil)
    (push (list (if thinking "thinking" "text")) (jumpseat-answer-parts answer))
    (jumpseat-answer--label answer (if thinking "thinking …" "…"))
    (if thinking (concat lead jumpseat-answer--thinking) lead)))

(defun jumpseat-answer--restart (answer)
  "Make the blocks of ANSWER void: the provider begins its answer again."
  (jumpseat-writer-replace (jumpseat-answer-writer answer) (jumpseat-answer-lead answer))
  (setf (jumpseat-answer-blocks answer) 0
        (jumpseat-answer-thinking answer) nil
        (jumpseat-answer-folded answer) nil
        (jumpseat-answer-parts answer) nil))

(defun jumpseat-answer--retry (delta)
  "The status while a turn waits to be tried again, from DELTA."
  (list :state 'retrying
        :detail (format "attempt %d of %d in %.1f s: %s" (plist-get delta :attempt)
                        (plist-get delta :maxAttempts) (/ (plist-get delta :delayMs) 1000.0)
                        (jumpseat-get delta :error :message))))

(defun jumpseat-answer-write (answer deltas)
  "Write DELTAS of ANSWER: one change of the buffer, except around thinking."
  (when (jumpseat-writer-live-p (jumpseat-answer-writer answer))
    (with-current-buffer (jumpseat-writer-buffer (jumpseat-answer-writer answer))
      (let ((status (jumpseat-answer--write answer deltas)))
        (when status (apply #'jumpseat-view-update status))))))

(defun jumpseat-answer--write (answer deltas)
  "Write DELTAS of ANSWER, and return a property list for the status."
  (let* ((writer (jumpseat-answer-writer answer))
         (text nil)
         (status nil)
         (flush (lambda ()
                  (jumpseat-writer-append writer (apply #'concat (nreverse text)))
                  (setq text nil))))
    (dolist (delta deltas)
      (pcase (plist-get delta :type)
        ("start"
         (setf (jumpseat-answer-model answer)
               (concat (plist-get delta :provider) ":" (plist-get delta :model))
               (jumpseat-answer-conversation answer) (plist-get delta :conversationId))
         (setq status (list :state 'waiting :model (jumpseat-answer-model answer) :detail nil)))
        ("response"
         (when (> (jumpseat-answer-blocks answer) 0)
           (funcall flush)
           (jumpseat-answer--restart answer)))
        ("retry"
         (setq status (append (jumpseat-answer--retry delta) status)))
        ("text_start"
         (push (jumpseat-answer--begin answer nil) text)
         (setq status (append '(:state streaming :detail nil) status)))
        ("thinking_start"
         (push (jumpseat-answer--begin answer t) text)
         (funcall flush)
         (setf (jumpseat-answer-thinking answer)
               (copy-marker (- (jumpseat-writer-end writer)
                               (length jumpseat-answer--thinking))))
         (setq status (append '(:state thinking :detail nil) status)))
        ((or "text_delta" "thinking_delta")
         (push (plist-get delta :text) text)
         (when (jumpseat-answer-parts answer)
           (push (plist-get delta :text) (cdr (car (jumpseat-answer-parts answer))))))
        ("thinking_done"
         (push "\n\n</details>\n" text)
         (funcall flush)
         (jumpseat-answer--fold answer))
        ("warning"
         (push (plist-get delta :message) (jumpseat-answer-notices answer)))
        ("citation"
         (when (plist-get delta :url)
           (push (string-join (delq nil (list (plist-get delta :title) (plist-get delta :url))) " ")
                 (jumpseat-answer-notices answer))))
        ("usage"
         (setf (jumpseat-answer-usage answer) (plist-get delta :usage))
         (setq status (append (list :usage (plist-get delta :usage)) status)))))
    (funcall flush)
    ;; The last value of a key wins.
    (let (changes)
      (while status
        (setq changes (append (list (pop status) (pop status)) changes)))
      changes)))

(defun jumpseat-answer--fold (answer)
  "Fold the thinking of ANSWER, which is complete."
  (when-let ((start (jumpseat-answer-thinking answer)))
    (jumpseat-view-fold start (jumpseat-writer-end (jumpseat-answer-writer answer)))
    (set-marker start nil))
  (setf (jumpseat-answer-thinking answer) nil
        (jumpseat-answer-folded answer) t))

(defun jumpseat-answer-content (answer)
  "The blocks that the deltas of ANSWER had, if its end never came."
  (vconcat
   (mapcar (lambda (part)
             (list :type (car part)
                   (if (equal (car part) "text") :text :thinking)
                   (apply #'concat (reverse (cdr part)))))
           (reverse (jumpseat-answer-parts answer)))))

(defun jumpseat-answer-empty-p (answer)
  "Whether ANSWER has no text yet."
  (= 0 (jumpseat-answer-blocks answer)))

(defun jumpseat-answer--fold-again (beg end hidden)
  "Fold the thinking between BEG and END, which is as the daemon writes it.
HIDDEN says for each fold whether its text was hidden before."
  (remove-overlays beg end 'jumpseat 'fold)
  (save-excursion
    (goto-char beg)
    ;; Such lines in texts are escaped.
    (while (re-search-forward "^<details><summary>Thinking</summary>$" end t)
      (let ((start (match-beginning 0)))
        (when (re-search-forward "^</details>$" end t)
          (jumpseat-view-fold start (point) (and hidden (not (pop hidden)))))))))

(defun jumpseat-answer-settle (answer text)
  "Put TEXT, the daemon's own of ANSWER, in the place of what was streamed."
  (let ((writer (jumpseat-answer-writer answer)))
    (when (jumpseat-writer-live-p writer)
      (with-current-buffer (jumpseat-writer-buffer writer)
        (save-restriction
          (widen)
          (let* ((beg (jumpseat-writer-start writer))
                 (end (jumpseat-writer-end writer))
                 (hidden (jumpseat-view-hidden beg end)))
            ;; A fold ends at what is replaced.
            (when (and (jumpseat-writer-replace writer (concat "\n\n" text)) hidden)
              (jumpseat-answer--fold-again beg end hidden))))))))

(defun jumpseat-answer-remove (answer)
  "Remove ANSWER, so that its question can be sent again."
  (when (jumpseat-writer-live-p (jumpseat-answer-writer answer))
    (delete-overlay (jumpseat-answer-overlay answer))
    (jumpseat-writer-replace (jumpseat-answer-writer answer) "")))

(defun jumpseat-answer-close (answer after err stopped)
  "End ANSWER: show its model, notices and ERR, and write AFTER behind it.
STOPPED says that the user stopped it."
  (let ((writer (jumpseat-answer-writer answer)))
    (when (jumpseat-writer-live-p writer)
      (with-current-buffer (jumpseat-writer-buffer writer)
        (let ((end (marker-position (jumpseat-writer-end writer))))
          (cond ((not (string-empty-p after))
                 (jumpseat-answer--label
                  answer (concat (jumpseat-view-summary (jumpseat-answer-model answer)
                                                        (jumpseat-answer-usage answer))
                                 (and stopped " · stopped"))))
                (stopped (jumpseat-view-below end "Stopped before the first words."
                                              'jumpseat-note)))
          (dolist (notice (reverse (jumpseat-answer-notices answer)))
            (jumpseat-view-below end notice 'warning))
          (when err (jumpseat-view-error end err))))
      (jumpseat-writer-append writer after)
      (jumpseat-writer-close writer))))

(provide 'jumpseat-answer)
;;; jumpseat-answer.el ends here
