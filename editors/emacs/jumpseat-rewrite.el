;;; jumpseat-rewrite.el --- Rewrite regions in place  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Rewrites regions of a buffer, several at a time if needed.  A proposed change
;; is displayed with overlays, and applied only if the text is still the text
;; that was sent.

;;; Code:

(require 'jumpseat-compare)
(require 'jumpseat-context)
(require 'jumpseat-preview)
(require 'jumpseat-region)
(require 'jumpseat-turn)
(require 'jumpseat-workspace)

(defcustom jumpseat-rewrite-ended-functions nil
  "Functions to call in a buffer when a rewrite can be reviewed or has failed.
Their argument says whether there is a change to review."
  :type 'hook
  :group 'jumpseat)

(defvar jumpseat-rewrite-history nil
  "The instructions of earlier rewrites, for the minibuffer.
`savehist-mode' saves them.")

(defconst jumpseat-rewrite--pause 1
  "Seconds of idle time after which the next command removes a rewrite's error.
Without this delay, typing while the message appears would remove it unread.")

(defvar jumpseat-rewrite-mode-map (make-sparse-keymap)
  "Keymap for buffers with an open rewrite; jumpseat-settle.el adds the keys.")

(defvar-local jumpseat-rewrite--outer-header nil
  "A list that contains the buffer's own header line, or nil if it had none.")

(define-minor-mode jumpseat-rewrite-mode
  "The mode of a buffer while a rewrite is open in it.
The rewrites turn it on and off.  The header line shows the keys."
  :lighter (:eval (jumpseat--view-lighter))
  :interactive nil
  (cond (jumpseat-rewrite-mode
         (setq jumpseat-rewrite--outer-header
               (and (local-variable-p 'header-line-format) (list header-line-format))
               header-line-format '(:eval (jumpseat--preview-describe-place))))
        (jumpseat-rewrite--outer-header
         (setq header-line-format (car jumpseat-rewrite--outer-header)))
        (t (kill-local-variable 'header-line-format))))

(defun jumpseat-rewrite--show-state ()
  "Show in the mode line whether a rewrite of this buffer is being written."
  (let ((running (seq-filter #'jumpseat--edit-turn jumpseat--edit-list)))
    (jumpseat--view-update
     :state (cond ((null running) nil)
                  ((seq-every-p (lambda (each) (string-empty-p (jumpseat--edit-answer each))) running)
                   'waiting)
                  (t 'streaming)))))

(defun jumpseat--rewrite-show-remaining (edit)
  "Show the remaining hunks of EDIT, or end it if there are none.
Return their number."
  (let ((count (jumpseat--preview-review edit)))
    (when (zerop count) (jumpseat--rewrite-clear edit))
    count))

(defun jumpseat-rewrite--stream (buffer edit delta)
  "Show DELTA of EDIT in BUFFER."
  (pcase (plist-get delta :type)
    ("text_delta" (setf (jumpseat--edit-answer edit)
                        (concat (jumpseat--edit-answer edit) (plist-get delta :text))))
    ("response" (setf (jumpseat--edit-answer edit) "")))
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (save-restriction
        (widen)
        (when (and (memq edit jumpseat--edit-list)
                   (not (string-empty-p (jumpseat--edit-answer edit)))
                   (jumpseat--edit-sync-if-unchanged edit))
          (jumpseat-rewrite--show-state)
          (jumpseat--preview-show-part edit))))))

;;; Start and end

(defun jumpseat--rewrite-clear (edit)
  "Remove EDIT from this buffer."
  (jumpseat--view-clear edit)
  (delete-overlay (jumpseat--edit-region edit))
  (setq jumpseat--edit-list (delq edit jumpseat--edit-list))
  (jumpseat-rewrite--show-state)
  (unless jumpseat--edit-list
    (remove-hook 'kill-buffer-hook #'jumpseat-rewrite--stop-all t)
    (remove-hook 'change-major-mode-hook #'jumpseat-rewrite--drop t)
    (jumpseat-rewrite-mode -1)))

(defun jumpseat-rewrite--stop-all ()
  "Stop every rewrite of this buffer."
  (mapc #'jumpseat--rewrite-stop jumpseat--edit-list))

(defun jumpseat-rewrite--drop ()
  "Drop the rewrites of a buffer that is reverted or gets another major mode."
  (jumpseat-rewrite--stop-all)
  (mapc #'jumpseat--rewrite-clear (copy-sequence jumpseat--edit-list))
  (jumpseat--say "The rewrite was discarded because its buffer was reverted or its major mode changed."))

(defun jumpseat-rewrite--offer (edit replacement)
  "Let the user review REPLACEMENT for the text of EDIT.
Return non-nil if there is anything to review."
  (setf (jumpseat--edit-replacement edit)
        (save-restriction
          (widen)
          (jumpseat--hunks-fontify (jumpseat--edit-start edit) (jumpseat--edit-end edit)
                                   replacement)))
  (cond
   ((not (jumpseat--edit-sync-if-unchanged edit))
    (jumpseat--preview-hide edit)
    t)
   ((zerop (jumpseat--rewrite-show-remaining edit))
    (jumpseat--say "The model changed nothing.")
    nil)
   (t (jumpseat--say "The rewrite is ready.")
      t)))

(defun jumpseat-rewrite--fail (edit outcome)
  "End EDIT of this buffer, and show the reason.
OUTCOME has no replacement text."
  (let ((start (jumpseat--edit-start edit))
        (result (plist-get outcome :result)) (err (plist-get outcome :error)))
    (jumpseat--rewrite-clear edit)
    (cond ((plist-get outcome :cancelled) (jumpseat--say "The rewrite was stopped."))
          (result (jumpseat--say "The model returned no text to apply: %s"
                                 (string-trim (plist-get result :text))))
          (t (jumpseat--say-error err)
             (jumpseat--view-show-error start err)
             (run-with-idle-timer jumpseat-rewrite--pause nil
                                  #'jumpseat-rewrite--forget-next (current-buffer))))))

(defun jumpseat-rewrite--finish (buffer edit outcome)
  "End EDIT of BUFFER with OUTCOME."
  (setf (jumpseat--edit-turn edit) nil)
  (when (and (buffer-live-p buffer)
             (memq edit (buffer-local-value 'jumpseat--edit-list buffer)))
    (with-current-buffer buffer
      (jumpseat-rewrite--show-state)
      (let ((replacement (jumpseat--get outcome :result :replacement)))
        (run-hook-with-args
         'jumpseat-rewrite-ended-functions
         (if replacement
             (jumpseat-rewrite--offer
              edit
              ;; Emacs keeps the type of line ending outside the text.  Remove
              ;; carriage returns, unless the old text itself contains some.
              (if (string-search "\r" (jumpseat--edit-sent edit)) replacement
                (string-replace "\r" "" replacement)))
           (jumpseat-rewrite--fail edit outcome)
           nil))))))

(defun jumpseat-rewrite--forget-next (buffer)
  "Make the next command in BUFFER remove the message of a failed rewrite."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (add-hook 'pre-command-hook #'jumpseat-rewrite--forget nil t))))

(defun jumpseat-rewrite--forget ()
  "Remove the message of a failed rewrite."
  (remove-hook 'pre-command-hook #'jumpseat-rewrite--forget t)
  (jumpseat--view-clear))

(defun jumpseat-rewrite--make-params (edit)
  "Return the params of `edit/start' for EDIT."
  (let* ((options (jumpseat--edit-options edit))
         (context (seq-mapcat #'jumpseat--context-build (plist-get options :context))))
    (append (list :target (jumpseat--region-block (jumpseat--edit-start edit)
                                                  (jumpseat--edit-end edit))
                  :instruction (jumpseat--edit-instruction edit)
                  :model (or (plist-get options :model) jumpseat-model)
                  :system (plist-get options :system)
                  :settings (plist-get options :settings)
                  ;; Allow as many tokens as the model does: a truncated rewrite
                  ;; cannot be applied.
                  :maxTokensDefault "model")
            (when context (list :context (vconcat context)))
            (jumpseat--workspace-params nil))))

(defun jumpseat--rewrite-begin (beg end instruction &optional options)
  "Rewrite the text from BEG to END of this buffer according to INSTRUCTION.
OPTIONS is a property list of :model, :system, :settings and :context (a list
of items).  An open rewrite of exactly this text is replaced."
  (when (string-blank-p instruction) (user-error "No instruction was entered"))
  (when-let ((other (jumpseat--edit-find-between beg end)))
    (unless (and (= beg (jumpseat--edit-start other)) (= end (jumpseat--edit-end other)))
      (user-error "This text has an open rewrite: accept or reject it first"))
    (jumpseat--rewrite-stop other)
    (jumpseat--rewrite-clear other))
  (jumpseat--view-clear)
  (let* ((buffer (current-buffer))
         (edit (jumpseat--edit-make
                ;; Text typed at either end stays outside.
                :region (make-overlay beg end nil t nil)
                :instruction instruction :options options)))
    (setf (jumpseat--edit-sent edit) (jumpseat--edit-text edit))
    (push edit jumpseat--edit-list)
    (unless jumpseat-rewrite-mode (jumpseat-rewrite-mode))
    (jumpseat--preview-start edit)
    (add-hook 'kill-buffer-hook #'jumpseat-rewrite--stop-all nil t)
    (add-hook 'change-major-mode-hook #'jumpseat-rewrite--drop nil t)
    (setf (jumpseat--edit-turn edit)
          (jumpseat--turn-start
           "edit/start" (jumpseat-rewrite--make-params edit)
           (lambda (delta) (jumpseat-rewrite--stream buffer edit delta))
           (lambda (outcome) (jumpseat-rewrite--finish buffer edit outcome))))
    (jumpseat-rewrite--show-state)))

(defun jumpseat--rewrite-read (&optional initial)
  "Read an instruction for a rewrite, with the text INITIAL to edit."
  (read-string "Rewrite how? " initial 'jumpseat-rewrite-history))

(defun jumpseat--rewrite-find-text ()
  "Return the bounds of the text to rewrite, as a list: the region or the line."
  (barf-if-buffer-read-only)
  (or (jumpseat--region-active)
      (list (line-beginning-position) (min (point-max) (1+ (line-end-position))))))

(defun jumpseat-rewrite (beg end instruction)
  "Rewrite the text from BEG to END, following INSTRUCTION.
Interactively, rewrite the region, or else the current line.
The change is shown; apply it with \\<jumpseat-rewrite-mode-map>\\[jumpseat-rewrite-accept].
A buffer can have several rewrites at the same time."
  (interactive (append (jumpseat--rewrite-find-text) (list (jumpseat--rewrite-read))))
  (deactivate-mark)
  (jumpseat--rewrite-begin beg end instruction))

(defun jumpseat--rewrite-stop (edit)
  "Stop EDIT, and return whether it was being written."
  (when-let ((turn (jumpseat--edit-turn edit)))
    (jumpseat--turn-stop turn)
    t))

(defun jumpseat--rewrite-stop-any ()
  "Stop a rewrite of this buffer, and return whether one was being written.
This is the rewrite at point if it is being written, or else another rewrite."
  (seq-some #'jumpseat--rewrite-stop
            (delq nil (cons (jumpseat--edit-find-current) (jumpseat--edit-list-sorted)))))

(provide 'jumpseat-rewrite)
;;; jumpseat-rewrite.el ends here
