;;; jumpseat-settle.el --- Review rewrites  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The commands for the rewrites of a buffer: they move to a rewrite, and
;; accept, reject, compare or merge it.  This file also defines the keys and the
;; menu of these commands.

;;; Code:

(require 'jumpseat-compare)
(require 'jumpseat-rewrite)

(defun jumpseat-settle--get-open ()
  "Return the rewrite at point, else the first one below, else the last one.
Signal a `user-error' if there is none."
  (or (jumpseat--edit-find-current) (user-error "There is no rewrite in this buffer")))

(defun jumpseat--rewrite-get-finished ()
  "Return the same rewrite as `jumpseat-settle--get-open', if it is finished.
Signal a `user-error' if the model is still writing it."
  (let ((edit (jumpseat-settle--get-open)))
    (unless (jumpseat--edit-replacement edit)
      (user-error "The rewrite is still being written; %s stops it"
                  (substitute-command-keys "\\[jumpseat-rewrite-reject]")))
    edit))

(defun jumpseat-settle--put-beside (edit)
  "Show the new text of EDIT beside this buffer, and end EDIT.
EDIT cannot be applied, because the old text has changed."
  (jumpseat--compare-diff edit)
  (jumpseat--rewrite-clear edit)
  (jumpseat--say "The text has changed since it was sent, so the rewrite was not applied. A diff shows the new text beside the current one."))

(defun jumpseat-settle--call-if-unchanged (function)
  "Call FUNCTION with the rewrite at point if its old text is unchanged.
Otherwise, show the new text beside this buffer.  See
`jumpseat--rewrite-get-finished'."
  (barf-if-buffer-read-only)
  (let ((edit (jumpseat--rewrite-get-finished)))
    (if (jumpseat--edit-sync-if-unchanged edit) (funcall function edit)
      (jumpseat-settle--put-beside edit))))

(defun jumpseat-rewrite-accept ()
  "Apply every remaining change of the rewrite at point, in one step of undo."
  (interactive)
  (jumpseat-settle--call-if-unchanged
   (lambda (edit)
     (let ((beg (jumpseat--edit-start edit)) (end (jumpseat--edit-end edit)))
       (jumpseat--rewrite-clear edit)
       (jumpseat--edit-replace beg end (jumpseat--edit-replacement edit))))))

(defun jumpseat-settle--settle-hunk (settle)
  "Call SETTLE with the current rewrite and hunk, and move to the next hunk."
  (jumpseat-settle--call-if-unchanged
   (lambda (edit)
     ;; Update the hunks: after an undo, they no longer match the text.
     (jumpseat--rewrite-show-remaining edit)
     (when-let ((current (jumpseat--hunks-find-current (jumpseat--hunks-find-shown edit))))
       (goto-char (overlay-start current))
       (save-excursion
         (save-restriction
           (widen)
           (funcall settle edit (overlay-get current 'jumpseat-hunk))))
       (unless (zerop (jumpseat--rewrite-show-remaining edit))
         (goto-char (overlay-start (jumpseat--hunks-find-current
                                    (jumpseat--hunks-find-shown edit)))))))))

(defun jumpseat-rewrite-accept-change ()
  "Apply the change at point, else the first one below, else the last one.
This is one step of undo."
  (interactive)
  (jumpseat-settle--settle-hunk #'jumpseat--edit-apply-hunk))

(defun jumpseat-rewrite-reject-change ()
  "Discard the change at point, else the first one below, else the last one."
  (interactive)
  (jumpseat-settle--settle-hunk #'jumpseat--edit-drop-hunk))

(defun jumpseat-rewrite-next-change (&optional count)
  "Move to the next change, COUNT times."
  (interactive "p")
  (jumpseat--rewrite-get-finished)
  (jumpseat--hunks-move (or count 1)))

(defun jumpseat-rewrite-previous-change (&optional count)
  "Move to the previous change, COUNT times."
  (interactive "p")
  (jumpseat-rewrite-next-change (- (or count 1))))

(defun jumpseat-rewrite-next (&optional count)
  "Move to the next rewrite of this buffer, COUNT times."
  (interactive "p")
  (jumpseat-settle--get-open)
  (jumpseat--edit-move (or count 1)))

(defun jumpseat-rewrite-previous (&optional count)
  "Move to the previous rewrite of this buffer, COUNT times."
  (interactive "p")
  (jumpseat-rewrite-next (- (or count 1))))

(defun jumpseat-rewrite-reject ()
  "Discard every change of the rewrite at point that you have not accepted yet.
If the model is still writing, stop the model."
  (interactive)
  (let ((edit (jumpseat-settle--get-open)))
    (jumpseat--rewrite-stop edit)
    (jumpseat--rewrite-clear edit)))

(defun jumpseat-rewrite-again (instruction)
  "Let the model write the rewrite at point again, following INSTRUCTION."
  (interactive
   (list (jumpseat--rewrite-read (jumpseat--edit-instruction (jumpseat--rewrite-get-finished)))))
  (let ((edit (jumpseat--rewrite-get-finished)))
    (jumpseat--rewrite-begin (jumpseat--edit-start edit) (jumpseat--edit-end edit) instruction
                             (jumpseat--edit-options edit))))

(defun jumpseat-rewrite-diff ()
  "Show a diff between this buffer and a copy with the new text."
  (interactive)
  (jumpseat--compare-diff (jumpseat--rewrite-get-finished)))

(defun jumpseat-rewrite-ediff ()
  "Compare this buffer in Ediff with a copy with the new text.
When you quit Ediff, the review continues if the old text is unchanged, else
the rewrite ends."
  (interactive)
  (jumpseat-settle--call-if-unchanged
   (lambda (edit)
     (jumpseat--preview-hide edit)
     (jumpseat--compare-ediff
      edit (lambda ()
             (when (memq edit jumpseat--edit-list)
               (if (jumpseat--edit-sync-if-unchanged edit) (jumpseat--rewrite-show-remaining edit)
                 (jumpseat--rewrite-clear edit))))))))

(defun jumpseat-rewrite-merge ()
  "Turn the rewrite at point into conflicts for Smerge mode.
The rewrite ends.  One step of undo brings the old text back."
  (interactive)
  (jumpseat-settle--call-if-unchanged
   (lambda (edit)
     (jumpseat--compare-merge edit)
     (jumpseat--rewrite-clear edit))))

;;; Buttons, keys and the menu

(setq jumpseat--preview-buttons
      '(("Accept" . jumpseat-rewrite-accept) ("Reject" . jumpseat-rewrite-reject)
        ("Again" . jumpseat-rewrite-again) ("More" . jumpseat-rewrite-more))
      jumpseat--preview-running-buttons '(("Stop" . jumpseat-rewrite-reject)))

(pcase-dolist (`(,key . ,command)
               '(("C-c C-a" . jumpseat-rewrite-accept)
                 ("C-c C-k" . jumpseat-rewrite-reject)
                 ("C-c C-y" . jumpseat-rewrite-accept-change)
                 ("C-c C-x" . jumpseat-rewrite-reject-change)
                 ("C-c C-n" . jumpseat-rewrite-next-change)
                 ("C-c C-p" . jumpseat-rewrite-previous-change)
                 ("C-c M-n" . jumpseat-rewrite-next)
                 ("C-c M-p" . jumpseat-rewrite-previous)
                 ("C-c C-r" . jumpseat-rewrite-again)
                 ("C-c C-d" . jumpseat-rewrite-diff)
                 ("C-c C-e" . jumpseat-rewrite-ediff)
                 ("C-c C-s" . jumpseat-rewrite-merge)))
  (define-key jumpseat-rewrite-mode-map (kbd key) command))

(easy-menu-define jumpseat--rewrite-menu jumpseat-rewrite-mode-map
  "Menu while a rewrite is open."
  '("Jumpseat"
    ["Accept All" jumpseat-rewrite-accept]
    ["Reject All or Stop" jumpseat-rewrite-reject]
    "---"
    ["Accept This Change" jumpseat-rewrite-accept-change]
    ["Reject This Change" jumpseat-rewrite-reject-change]
    ["Next Change" jumpseat-rewrite-next-change]
    ["Previous Change" jumpseat-rewrite-previous-change]
    "---"
    ["Next Rewrite" jumpseat-rewrite-next :active (cdr jumpseat--edit-list)]
    ["Previous Rewrite" jumpseat-rewrite-previous :active (cdr jumpseat--edit-list)]
    "---"
    ["Ask Again..." jumpseat-rewrite-again]
    ["Show Difference" jumpseat-rewrite-diff]
    ["Compare in Ediff" jumpseat-rewrite-ediff]
    ["Merge in Smerge Mode" jumpseat-rewrite-merge]))

(defun jumpseat-rewrite-more (event)
  "Move point to the position of EVENT, and show the menu of rewrites there."
  (interactive (list last-nonmenu-event))
  (when (mouse-event-p event) (posn-set-point (event-end event)))
  (popup-menu jumpseat--rewrite-menu (if (mouse-event-p event) event (point-marker))))

(define-key jumpseat--preview-hunk-map [mouse-3] #'jumpseat-rewrite-more)
;; Without this binding, pressing the mouse button would change the region.
(define-key jumpseat--preview-hunk-map [down-mouse-3] #'ignore)

(provide 'jumpseat-settle)
;;; jumpseat-settle.el ends here
