;;; jumpseat-hunks.el --- Show changes in a buffer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Computes the difference between two texts as hunks of whole lines, and shows
;; the hunks in the old text without changing the text.  A hunk is a list of four
;; offsets: its start and end in the old text, and its start and end in the new
;; text.

;;; Code:

(require 'cl-lib)
(require 'diff-mode)
(require 'jumpseat-view)

(defface jumpseat-rewrite-old '((t :inherit diff-removed))
  "Text that a rewrite would remove."
  :group 'jumpseat)

(defface jumpseat-rewrite-new '((t :inherit diff-added))
  "Text that a rewrite would insert."
  :group 'jumpseat)

;;; The difference

(defun jumpseat-hunks--split (text)
  "Split TEXT into lines, each with its line ending."
  (let ((start 0) lines)
    (while (string-match "[^\n]*\n\\|[^\n]+\\'" text start)
      (push (match-string 0 text) lines)
      (setq start (match-end 0)))
    (nreverse lines)))

(defun jumpseat-hunks--compute-offsets (lines)
  "Return a vector with the offset of each of LINES in their text.
The last element is the offset of the text's end."
  (let ((offset 0))
    (vconcat [0] (mapcar (lambda (line) (setq offset (+ offset (length line)))) lines))))

(defun jumpseat-hunks--find-increasing (pairs)
  "Return a longest sublist of PAIRS in which the cdrs increase."
  (let ((ends (make-vector (length pairs) nil))
        (count 0))
    ;; For each length, keep the increasing sublist whose last cdr is the lowest.
    ;; These sublists are in reverse order.
    (dolist (pair pairs)
      (let ((low 0) (high count))
        (while (< low high)
          (let ((middle (/ (+ low high) 2)))
            (if (< (cdar (aref ends middle)) (cdr pair))
                (setq low (1+ middle))
              (setq high middle))))
        (aset ends low (cons pair (and (> low 0) (aref ends (1- low)))))
        (setq count (max count (1+ low)))))
    (and (> count 0) (reverse (aref ends (1- count))))))

(defun jumpseat-hunks--number-lines (lines beg end)
  "Return a hash table that maps each of LINES from BEG to END to its number.
A line that occurs several times has the value `several'."
  ;; Many small tables are made.  With the default size, they would leave enough
  ;; garbage to trigger a collection.
  (let ((numbers (make-hash-table :test #'equal :size (- end beg))))
    (cl-loop for number from beg below end
             for line = (aref lines number)
             do (puthash line (if (gethash line numbers) 'several number) numbers))
    numbers))

(defun jumpseat-hunks--match (old old-beg old-end new new-beg new-end kept)
  "Match the lines of OLD from OLD-BEG to OLD-END with those of NEW.
NEW-BEG and NEW-END are the bounds in NEW.  In the vector KEPT, store for each
line of NEW the number of the equal line in OLD, or leave nil for an added line.
First match equal lines at the start and at the end of both ranges, then lines
that occur once in each range, then the lines between those."
  (while (and (< old-beg old-end) (< new-beg new-end)
              (equal (aref old old-beg) (aref new new-beg)))
    (aset kept new-beg old-beg)
    (cl-incf old-beg)
    (cl-incf new-beg))
  (while (and (< old-beg old-end) (< new-beg new-end)
              (equal (aref old (1- old-end)) (aref new (1- new-end))))
    (cl-decf old-end)
    (cl-decf new-end)
    (aset kept new-end old-end))
  (when (and (< old-beg old-end) (< new-beg new-end))
    (let* ((old-numbers (jumpseat-hunks--number-lines old old-beg old-end))
           (new-numbers (jumpseat-hunks--number-lines new new-beg new-end))
           (pairs (cl-loop for number from old-beg below old-end
                           for there = (gethash (aref old number) new-numbers)
                           when (and (integerp there)
                                     (integerp (gethash (aref old number) old-numbers)))
                           collect (cons number there)))
           (anchors (jumpseat-hunks--find-increasing pairs)))
      (pcase-dolist (`(,old-line . ,new-line) anchors)
        (jumpseat-hunks--match old old-beg (1+ old-line) new new-beg (1+ new-line) kept)
        (setq old-beg (1+ old-line) new-beg (1+ new-line)))
      (when anchors
        (jumpseat-hunks--match old old-beg old-end new new-beg new-end kept)))))

(defun jumpseat-hunks--find-kept (old new)
  "Return a list with the number of the equal line in OLD for each line of NEW.
The number is nil for an added line."
  (let ((kept (make-vector (length new) nil)))
    (jumpseat-hunks--match (vconcat old) 0 (length old) (vconcat new) 0 (length new) kept)
    (append kept nil)))

(defun jumpseat--hunks-compute (old new)
  "Return the hunks that turn the text OLD into the text NEW."
  (let* ((old-lines (jumpseat-hunks--split old))
         (new-lines (jumpseat-hunks--split new))
         (old-offsets (jumpseat-hunks--compute-offsets old-lines))
         (new-offsets (jumpseat-hunks--compute-offsets new-lines))
         (old-start 0) (new-start 0) (new-number 0)
         hunks)
    ;; The next hunk begins at `old-start' and `new-start'; `new-number' is the current line in NEW.
    ;; Treat the end of the texts as a line that both have.
    (dolist (kept (append (jumpseat-hunks--find-kept old-lines new-lines) (list (length old-lines))))
      (when kept
        (when (or (< old-start kept) (< new-start new-number))
          (push (list (aref old-offsets old-start) (aref old-offsets kept)
                      (aref new-offsets new-start) (aref new-offsets new-number))
                hunks))
        (setq old-start (1+ kept) new-start (1+ new-number)))
      (setq new-number (1+ new-number)))
    (nreverse hunks)))

;;; Unified differences

(defconst jumpseat-hunks--context 3
  "The number of unchanged lines on each side of a change in a unified difference.")

(defun jumpseat-hunks--mark-lines (old new)
  "Merge the lines of the texts OLD and NEW into a vector, with common lines once.
Each line has a prefix: a space if it is in both texts, `-' if it is
only in OLD, and `+' if it is only in NEW."
  (let* ((old-lines (jumpseat-hunks--split old))
         (new-lines (jumpseat-hunks--split new))
         (number 0)
         added marked)
    ;; Treat the end of the texts as a line that both have.
    (cl-loop for kept in (append (jumpseat-hunks--find-kept old-lines new-lines)
                                 (list (length old-lines)))
             for line = (pop new-lines)
             do (if (null kept) (push (concat "+" line) added)
                  (while (< number kept)
                    (push (concat "-" (pop old-lines)) marked)
                    (cl-incf number))
                  (setq marked (append added marked)
                        added nil)
                  (when line
                    (push (concat " " (pop old-lines)) marked)
                    (cl-incf number))))
    (vconcat (nreverse marked))))

(defun jumpseat-hunks--group (marked)
  "Return a list of the bounds in MARKED of each hunk with its context."
  (let (groups)
    (cl-loop for line across marked
             for index from 0
             unless (eq ?\s (aref line 0))
             do (let ((beg (max 0 (- index jumpseat-hunks--context)))
                      (end (min (length marked) (+ index 1 jumpseat-hunks--context))))
                  (if (and groups (<= beg (cdar groups)))
                      (setcdr (car groups) end)
                    (push (cons beg end) groups))))
    (nreverse groups)))

(defun jumpseat-hunks--count (marked beg end sign)
  "Count the lines of MARKED from BEG to END that are unchanged or have SIGN."
  (cl-loop for index from beg below end
           count (memq (aref (aref marked index) 0) (list ?\s sign))))

(defun jumpseat-hunks--format-group (marked group)
  "Return the text of GROUP of MARKED."
  (pcase-let ((`(,beg . ,end) group))
    (concat
     (apply #'format "@@ -%d,%d +%d,%d @@\n"
            (mapcan (lambda (sign)
                      (let ((count (jumpseat-hunks--count marked beg end sign)))
                        ;; In this format, an empty range starts at the line before it.
                        (list (+ (jumpseat-hunks--count marked 0 beg sign) (min 1 count)) count)))
                    (list ?- ?+)))
     (mapconcat (lambda (line)
                  (if (string-suffix-p "\n" line) line
                    (concat line "\n\\ No newline at end of file\n")))
                (seq-subseq marked beg end) ""))))

(defun jumpseat--hunks-format-diff (old new name)
  "Return the unified difference between the texts OLD and NEW of the file NAME.
OLD is nil if the file is new."
  (let ((marked (jumpseat-hunks--mark-lines (or old "") new)))
    (concat (format "--- %s\n+++ %s\n" (if old name "/dev/null") name)
            (mapconcat (apply-partially #'jumpseat-hunks--format-group marked)
                       (jumpseat-hunks--group marked) ""))))

;;; Display

(defun jumpseat-hunks--copy-faces (beg end)
  "Return the text from BEG to END with only its faces as properties."
  (let ((text (buffer-substring-no-properties beg end))
        (position beg))
    (while (< position end)
      (let ((next (next-single-property-change position 'face nil end)))
        (put-text-property (- position beg) (- next beg) 'face
                           (get-text-property position 'face) text)
        (setq position next)))
    text))

(defun jumpseat--hunks-fontify (beg end text)
  "Return TEXT with the faces it would have if it replaced the text BEG to END."
  (let ((mode major-mode)
        (before (buffer-substring-no-properties (point-min) beg))
        (after (buffer-substring-no-properties end (point-max))))
    ;; Some modes signal an error in a buffer without a file.  Do without the
    ;; faces then.
    (or (ignore-errors
          (with-temp-buffer
            (insert before text after)
            (delay-mode-hooks (funcall mode))
            (let* ((beg (+ (point-min) (length before)))
                   (end (+ beg (length text))))
              (font-lock-ensure beg end)
              (jumpseat-hunks--copy-faces beg end))))
        text)))

(defun jumpseat-hunks--format-new (end text)
  "Return the string to display for the new TEXT at END, the end of the old text."
  (let ((added (copy-sequence text))
        (at-line-start (save-excursion (goto-char end) (bolp)))
        (at-line-end (save-excursion (goto-char end) (eolp))))
    (when (and at-line-start (not (string-suffix-p "\n" added)))
      (setq added (concat added "\n")))
    (when (and (not at-line-start) (or at-line-end (string-search "\n" added)))
      (setq added (concat "\n" added)))
    ;; Append this face, so that it sets the background, but does not override the
    ;; faces of the language.
    (add-face-text-property 0 (length added) 'jumpseat-rewrite-new t added)
    (if (and at-line-end (not at-line-start)) (concat jumpseat--view-cursor added) added)))

(defun jumpseat--hunks-show (start hunks new kind)
  "Show HUNKS, which turn the text at START of this buffer into the text NEW.
Replace the overlays of KIND; see `jumpseat--view-clear'."
  (jumpseat--view-clear kind)
  (pcase-dolist (`(,old-beg ,old-end ,new-beg ,new-end) hunks)
    (let ((overlay (jumpseat--view-put-overlay (+ start old-beg) (+ start old-end) kind)))
      ;; Otherwise, the face of the whole rewritten text would hide the hunk's face.
      (overlay-put overlay 'priority 1)
      (overlay-put overlay 'jumpseat-hunk (list old-beg old-end new-beg new-end))
      (when (< old-beg old-end)
        (overlay-put overlay 'face 'jumpseat-rewrite-old))
      (when (< new-beg new-end)
        ;; An insertion at the start of the text has an empty overlay, and must appear
        ;; below the line that `jumpseat-preview' puts above the rewrite.  Emacs would
        ;; show an `after-string' above that line, so use a `before-string'.
        (overlay-put overlay (if (zerop old-end) 'before-string 'after-string)
                     (jumpseat-hunks--format-new (+ start old-end)
                                                 (substring new new-beg new-end)))))))

;;; The hunks of a buffer

(defun jumpseat--hunks-find-shown (&optional kind)
  "Return the overlays of the hunks in this buffer, in buffer order.
If KIND is given, return only those of that kind."
  (save-restriction
    (widen)
    (sort (seq-filter (lambda (each)
                        (and (overlay-get each 'jumpseat-hunk)
                             (or (null kind) (eq kind (overlay-get each 'jumpseat-kind)))))
                      (overlays-in (point-min) (point-max)))
          (lambda (a b) (< (overlay-start a) (overlay-start b))))))

(defun jumpseat--hunks-find-current (shown)
  "Return the first overlay in SHOWN on or below the line of point, else the last."
  (let ((line (line-beginning-position)))
    (or (seq-find (lambda (each)
                    (or (> (overlay-end each) line) (= (overlay-start each) (overlay-end each) line)))
                  shown)
        (car (last shown)))))

(defun jumpseat--hunks-move (count)
  "Move to the next hunk COUNT times, or to the previous if COUNT is negative."
  (let* ((at (point))
         (starts (mapcar #'overlay-start (jumpseat--hunks-find-shown)))
         (there (if (> count 0) (seq-filter (lambda (each) (> each at)) starts)
                  (nreverse (seq-filter (lambda (each) (< each at)) starts)))))
    (goto-char (or (nth (1- (abs count)) there)
                   (user-error "There is no %s change" (if (> count 0) "next" "previous"))))))

(provide 'jumpseat-hunks)
;;; jumpseat-hunks.el ends here
