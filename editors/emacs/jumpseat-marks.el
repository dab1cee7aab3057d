;;; jumpseat-marks.el --- Marks beside the headings of chats  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The option `jumpseat-role-marks' shows a mark in the left margin beside each
;; heading of a chat: one for questions, and another for answers.

;;; Code:

(require 'jumpseat-chat)

(defface jumpseat-question-mark '((t :inherit (bold font-lock-keyword-face)))
  "The mark in the margin beside a question."
  :group 'jumpseat)

(defface jumpseat-answer-mark '((t :inherit (bold font-lock-string-face)))
  "The mark in the margin beside an answer."
  :group 'jumpseat)

(defcustom jumpseat-role-marks nil
  "Marks in the left margin of chats, or nil.
The value is a cons of two short strings: the mark beside questions, and the
mark beside answers."
  :type '(choice (const :tag "No marks" nil)
                 (cons :tag "Marks" (string :tag "Questions" "❯") (string :tag "Answers" "●")))
  :group 'jumpseat)

(defvar-local jumpseat-marks--shown nil "Whether this buffer has marks.")

(defun jumpseat-marks--set-width (width)
  "Set the WIDTH of the left margin of this buffer, in all its windows."
  (setq left-margin-width width)
  (dolist (window (get-buffer-window-list nil nil t))
    (set-window-margins window width (cdr (window-margins window)))))

(defun jumpseat-marks--update (beg end)
  "Mark the headings between BEG and END."
  (save-excursion
    (goto-char beg)
    (setq beg (line-beginning-position))
    (goto-char end)
    (setq end (line-end-position))
    (remove-overlays beg end 'jumpseat-kind 'mark)
    (goto-char beg)
    (while (re-search-forward (jumpseat--transcript-heading-regexp) end t)
      (let* ((question (jumpseat--transcript-question-p (match-string-no-properties 0)))
             (mark (propertize (if question (car jumpseat-role-marks) (cdr jumpseat-role-marks))
                               'face (if question 'jumpseat-question-mark 'jumpseat-answer-mark))))
        (overlay-put (jumpseat--view-put-overlay (match-beginning 0) (match-end 0) 'mark)
                     'before-string (propertize " " 'display `((margin left-margin) ,mark)))))))

(defun jumpseat-marks--update-all ()
  "Mark all headings of this chat."
  (save-restriction
    (widen)
    (jumpseat-marks--update (point-min) (point-max))))

(defun jumpseat-marks--set-up ()
  "Start or stop marking the headings of this buffer.
They are marked if it is a chat and `jumpseat-role-marks' is set."
  (cond
   ((and jumpseat-chat-mode jumpseat-role-marks)
    (setq jumpseat-marks--shown t)
    (jumpseat-marks--set-width
     (1+ (max (string-width (car jumpseat-role-marks)) (string-width (cdr jumpseat-role-marks)))))
    ;; An answer is fontified only when it is complete: too late for its mark.
    (add-hook 'jumpseat-turn-started-hook #'jumpseat-marks--update-all nil t)
    (jit-lock-register #'jumpseat-marks--update))
   (jumpseat-marks--shown
    (remove-hook 'jumpseat-turn-started-hook #'jumpseat-marks--update-all t)
    (jit-lock-unregister #'jumpseat-marks--update)
    (jumpseat--view-clear 'mark)
    ;; Restore the default width, not the earlier width of this buffer: Flymake of
    ;; newer Emacs releases also uses this margin, and may have set that width.
    (jumpseat-marks--set-width (default-value 'left-margin-width))
    (kill-local-variable 'left-margin-width)
    (setq jumpseat-marks--shown nil))))

(add-hook 'jumpseat-chat-mode-hook #'jumpseat-marks--set-up)

(provide 'jumpseat-marks)
;;; jumpseat-marks.el ends here
