;;; jumpseat-edit.el --- The state of rewrites  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The state of the rewrites in a buffer: for each, the old text, the new text,
;; and the hunks accepted and rejected so far.

;;; Code:

(require 'cl-lib)
(require 'jumpseat-hunks)
(require 'jumpseat-transcript)

(cl-defstruct (jumpseat--edit (:constructor jumpseat--edit-make) (:copier nil))
  region                     ; the overlay over the text
  sent                       ; the text that was sent, with the hunks accepted since
  (earlier nil)              ; the earlier values of `sent', which undo may restore
  instruction
  options                    ; a property list; see `jumpseat--rewrite-begin'
  (answer "")                ; the model's text so far
  (replacement nil)          ; the new text, without the rejected hunks
  (keys "")                  ; the keys in the header line
  turn)

;;; The rewrites of a buffer

(defvar-local jumpseat--edit-list nil "The open rewrites in this buffer, in no particular order.")

(defun jumpseat--edit-start (edit)
  "Return the start of the text of EDIT."
  (overlay-start (jumpseat--edit-region edit)))

(defun jumpseat--edit-end (edit)
  "Return the end of the text of EDIT."
  (overlay-end (jumpseat--edit-region edit)))

(defun jumpseat--edit-list-sorted ()
  "Return the open rewrites in this buffer, in buffer order."
  (sort (copy-sequence jumpseat--edit-list)
        (lambda (a b) (< (jumpseat--edit-start a) (jumpseat--edit-start b)))))

(defun jumpseat--edit-find-current ()
  "Return the rewrite at point, else the first one below, else the last one.
Return nil if there is none.  A rewrite on the line of point counts as below."
  (let ((sorted (jumpseat--edit-list-sorted))
        (line (line-beginning-position)))
    (or (seq-find (lambda (each) (<= (jumpseat--edit-start each) (point) (1- (jumpseat--edit-end each))))
                  sorted)
        (seq-find (lambda (each)
                    (or (> (jumpseat--edit-end each) line)
                        (= (jumpseat--edit-start each) (jumpseat--edit-end each) line)))
                  sorted)
        (car (last sorted)))))

(defun jumpseat--edit-find-between (beg end)
  "Return a rewrite in this buffer that overlaps the text from BEG to END, or nil."
  (seq-find (lambda (each)
              (if (= beg end) (<= (jumpseat--edit-start each) beg (jumpseat--edit-end each))
                (and (< (jumpseat--edit-start each) end) (> (jumpseat--edit-end each) beg))))
            jumpseat--edit-list))

(defun jumpseat--edit-move (count)
  "Move to the next rewrite COUNT times, or to the previous if COUNT is negative."
  (let* ((at (point))
         (starts (mapcar #'jumpseat--edit-start (jumpseat--edit-list-sorted)))
         (there (if (> count 0) (seq-filter (lambda (each) (> each at)) starts)
                  (nreverse (seq-filter (lambda (each) (< each at)) starts)))))
    (goto-char (or (nth (1- (abs count)) there)
                   (user-error "There is no %s rewrite" (if (> count 0) "next" "previous"))))))

;;; One rewrite

(defun jumpseat--edit-text (edit)
  "Return the current text of EDIT in this buffer."
  (save-restriction
    (widen)
    (buffer-substring-no-properties (jumpseat--edit-start edit) (jumpseat--edit-end edit))))

(defun jumpseat--edit-sync-if-unchanged (edit)
  "Record in EDIT which accepted hunks the user has undone.
Return nil if the text was changed in any other way since it was sent."
  (when (overlay-buffer (jumpseat--edit-region edit))
    (let ((text (jumpseat--edit-text edit)))
      ;; If the user has undone a hunk, `text' is one of the earlier texts.
      (when (member text (cons (jumpseat--edit-sent edit)
                               (jumpseat--edit-earlier edit)))
        (setf (jumpseat--edit-sent edit) text)
        t))))

(defun jumpseat--edit-show (edit old new)
  "Show the hunks between the texts OLD and NEW of EDIT, and return the count."
  (let ((hunks (jumpseat--hunks-compute old new)))
    (jumpseat--hunks-show (jumpseat--edit-start edit) hunks new edit)
    (length hunks)))

(defun jumpseat--edit-replace (beg end text)
  "Replace the text from BEG to END of this buffer with TEXT, in one undo step."
  (undo-boundary)
  (jumpseat--transcript-replace beg end (substring-no-properties text))
  (undo-boundary))

(defun jumpseat--edit-apply-hunk (edit hunk)
  "Apply HUNK of EDIT."
  (pcase-let* ((`(,old-beg ,old-end ,new-beg ,new-end) hunk)
               (sent (jumpseat--edit-sent edit))
               (start (jumpseat--edit-start edit))
               (new (substring (jumpseat--edit-replacement edit) new-beg new-end)))
    (jumpseat--edit-replace (+ start old-beg) (+ start old-end) new)
    (push sent (jumpseat--edit-earlier edit))
    (setf (jumpseat--edit-sent edit)
          (concat (substring sent 0 old-beg) (substring-no-properties new)
                  (substring sent old-end)))
    ;; Text that was inserted at the end of the overlay is not in it yet.
    (move-overlay (jumpseat--edit-region edit) start
                  (+ start (length (jumpseat--edit-sent edit))))))

(defun jumpseat--edit-drop-hunk (edit hunk)
  "Remove HUNK from the new text of EDIT."
  (pcase-let ((`(,old-beg ,old-end ,new-beg ,new-end) hunk)
              (new (jumpseat--edit-replacement edit)))
    (setf (jumpseat--edit-replacement edit)
          (concat (substring new 0 new-beg)
                  (substring (jumpseat--edit-sent edit) old-beg old-end)
                  (substring new new-end)))))

(provide 'jumpseat-edit)
;;; jumpseat-edit.el ends here
