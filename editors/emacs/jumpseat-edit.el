;;; jumpseat-edit.el --- The state of a rewrite  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The state of one rewrite: the old text, the new text, and the hunks accepted
;; and rejected so far.

;;; Code:

(require 'cl-lib)
(require 'jumpseat-hunks)
(require 'jumpseat-transcript)

(cl-defstruct (jumpseat--edit (:constructor jumpseat--edit-make) (:copier nil))
  region                     ; the overlay over the text
  sent                       ; the text that was sent, with the accepted hunks
  (earlier nil)              ; its earlier values, which undo restores
  instruction
  (answer "")                ; the model's text so far
  (replacement nil)          ; the new text, without the rejected hunks
  turn)

(defun jumpseat--edit-unchanged-p (edit)
  "Whether the text of EDIT is the one that was sent, with accepted hunks."
  (let ((region (jumpseat--edit-region edit)))
    (when (overlay-buffer region)
      (let ((text (save-restriction
                    (widen)
                    (buffer-substring-no-properties (overlay-start region)
                                                    (overlay-end region)))))
        ;; If the user has undone a hunk, this is one of the earlier texts.
        (when (member text (cons (jumpseat--edit-sent edit)
                                 (jumpseat--edit-earlier edit)))
          (setf (jumpseat--edit-sent edit) text)
          t)))))

(defun jumpseat--edit-show (edit old new)
  "Show the hunks between the texts OLD and NEW of EDIT, and return the count."
  (let ((hunks (jumpseat--hunks-compute old new)))
    (jumpseat--hunks-show (overlay-start (jumpseat--edit-region edit)) hunks new)
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
               (region (jumpseat--edit-region edit))
               (start (overlay-start region))
               (new (substring (jumpseat--edit-replacement edit) new-beg new-end)))
    (jumpseat--edit-replace (+ start old-beg) (+ start old-end) new)
    (push sent (jumpseat--edit-earlier edit))
    (setf (jumpseat--edit-sent edit)
          (concat (substring sent 0 old-beg) (substring-no-properties new)
                  (substring sent old-end)))
    ;; Text inserted at its end would stay outside.
    (move-overlay region start (+ start (length (jumpseat--edit-sent edit))))))

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
