;;; jumpseat-view.el --- What is shown of a chat beside its text  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The header line and the mode line, notes behind headings, messages below lines, and folds.

;;; Code:

(require 'jumpseat-core)

(defvar-local jumpseat-view--status nil
  "What is shown of this buffer, a property list.
:state, a key of `jumpseat-view--labels', while something runs; :detail, shown
in place of its label; :model, :usage and :quota.")

(defconst jumpseat-view--labels
  '((preparing . "sending") (waiting . "waiting") (thinking . "thinking")
    (streaming . "answering") (retrying . "waiting to try again") (stopping . "stopping"))
  "What the states are called.")

(defun jumpseat-view-get (key)
  "The value of KEY in the status of this buffer."
  (plist-get jumpseat-view--status key))

(defvar-local jumpseat-view--header nil
  "The text of the header line until the status changes.")

(defun jumpseat-view-update (&rest values)
  "Set keys of the status of this buffer; VALUES are keys and their values."
  (while values
    (setq jumpseat-view--status
          (plist-put jumpseat-view--status (pop values) (pop values))))
  (setq jumpseat-view--header nil)
  (force-mode-line-update))

(defun jumpseat-view-tokens (usage)
  "USAGE in a few words, or nil."
  (when usage
    (let ((cost (plist-get usage :cost)))
      (format "%d → %d tokens%s" (plist-get usage :inputTokens) (plist-get usage :outputTokens)
              (if cost (format " · %.4f %s" (plist-get cost :amount) (plist-get cost :currency))
                "")))))

(defun jumpseat-view--state ()
  "What this buffer does, in a few words, or nil."
  (or (jumpseat-view-get :detail)
      (alist-get (jumpseat-view-get :state) jumpseat-view--labels)))

(defun jumpseat-view-header ()
  "The text of the header line of a chat.
Redisplay calls this for each piece of an answer, and keys are expensive to look
up."
  (or jumpseat-view--header
      (setq jumpseat-view--header (jumpseat-view--make-header))))

(defun jumpseat-view--make-header ()
  "Make the text of the header line."
  (let* ((parts (list (or (jumpseat-view-get :model) "default model")
                      (jumpseat-view--state)
                      (jumpseat-view-tokens (jumpseat-view-get :usage))
                      (jumpseat-view-get :quota)))
         (hint (substitute-command-keys
                (if (jumpseat-view-get :state) "\\[jumpseat-stop] stops "
                  "\\[jumpseat-send] sends ")))
         (left (concat " " (string-join (delq nil parts) " · "))))
    ;; A header line is a construct in which a percent sign has a meaning.
    (replace-regexp-in-string
     "%" "%%"
     (concat left
             (propertize " " 'display `(space :align-to (- right ,(length hint))))
             (propertize hint 'face 'jumpseat-note)))))

(defun jumpseat-view-lighter ()
  "The words of the mode line for this buffer."
  (let ((state (alist-get (jumpseat-view-get :state) jumpseat-view--labels)))
    (concat " jumpseat" (and state (concat ":" state)))))

(defun jumpseat-view-summary (model usage)
  "The note behind the heading of an answer: MODEL and USAGE."
  (string-join (delq nil (list model (jumpseat-view-tokens usage))) " · "))

;;; Overlays

(defun jumpseat-view-overlay (beg end kind)
  "An overlay from BEG to END of the KIND that `jumpseat-view-clear' knows."
  (let ((overlay (make-overlay beg end nil t)))
    (overlay-put overlay 'jumpseat-kind kind)
    (overlay-put overlay 'evaporate (< beg end))
    overlay))

(defconst jumpseat-view-cursor (propertize " " 'cursor t)
  "A blank before text that is shown at the end of a line.
A cursor at the end of that line is drawn on it, not on or behind the text.")

(defun jumpseat-view-heading (position text &optional overlay)
  "Show TEXT behind the heading at POSITION, by OVERLAY if there is one."
  (let ((overlay (or overlay
                     (jumpseat-view-overlay
                      position (save-excursion (goto-char position) (line-end-position))
                      'heading))))
    (overlay-put overlay 'after-string
                 (concat jumpseat-view-cursor (propertize text 'face 'jumpseat-note)))
    overlay))

(defun jumpseat-view-below (position text face)
  "Show TEXT in FACE below the line at POSITION, until the next turn."
  (let* ((at (save-excursion (goto-char position) (line-end-position)))
         (filled (with-temp-buffer
                   (insert text)
                   (let ((fill-column 76)) (fill-region (point-min) (point-max)))
                   (string-trim (buffer-string))))
         (overlay (jumpseat-view-overlay at at 'message)))
    (overlay-put overlay 'after-string
                 (concat jumpseat-view-cursor (propertize (concat "\n" filled) 'face face)))))

(defun jumpseat-view-error (position err)
  "Show ERR below the line at POSITION."
  (jumpseat-view-below position (concat "✗ " (jumpseat-sentence err)) 'jumpseat-error))

(defun jumpseat-view-clear (&optional kind)
  "Remove the overlays of KIND, `message' by default; others stay."
  (save-restriction
    (widen)
    (remove-overlays (point-min) (point-max) 'jumpseat-kind (or kind 'message))))

;;; Folds

(defvar jumpseat-view-fold-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'jumpseat-toggle-thinking)
    (define-key map [mouse-1] #'jumpseat-toggle-thinking)
    map)
  "Keys on folded thinking.")

(defun jumpseat-view-fold (beg end)
  "Fold the thinking from the line at BEG to the end of the line before END."
  (let* ((end (save-excursion (goto-char end) (if (bolp) (1- (point)) (point))))
         (overlay (jumpseat-view-overlay beg end 'fold)))
    (overlay-put overlay 'isearch-open-invisible #'jumpseat-view--open)
    (overlay-put overlay 'keymap jumpseat-view-fold-map)
    ;; The markup is four lines: the two of `<details>', and a blank one within each.
    (overlay-put overlay 'jumpseat-lines (max 1 (- (count-lines beg end) 4)))
    (jumpseat-view--close overlay)))

(defun jumpseat-view--close (overlay)
  "Hide the text of OVERLAY."
  (overlay-put overlay 'display
               (propertize (let ((lines (overlay-get overlay 'jumpseat-lines)))
                             (format "▸ Thinking (%d line%s)" lines (if (= lines 1) "" "s")))
                           'face 'jumpseat-note)))

(defun jumpseat-view--open (overlay)
  "Show the text of OVERLAY."
  (overlay-put overlay 'display nil))

(defun jumpseat-view--folds (beg end)
  "The folds between BEG and END, in the order of the text."
  (sort (seq-filter (lambda (each) (eq (overlay-get each 'jumpseat-kind) 'fold)) (overlays-in beg end))
        (lambda (a b) (< (overlay-start a) (overlay-start b)))))

(defun jumpseat-toggle-thinking (&optional all)
  "Show or hide the thinking at point, else the last before it.
With a prefix argument ALL, that of the whole chat."
  (interactive "P")
  (let* ((folds (jumpseat-view--folds (point-min) (if all (point-max) (line-end-position))))
         (chosen (if all folds (last folds))))
    (unless chosen (user-error "There is no thinking here"))
    (let ((hidden (overlay-get (car chosen) 'display)))
      (mapc (if hidden #'jumpseat-view--open #'jumpseat-view--close) chosen))))

(provide 'jumpseat-view)
;;; jumpseat-view.el ends here
