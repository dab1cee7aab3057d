;;; jumpseat-preview.el --- Show rewrites in the buffer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Shows each rewrite of a buffer without changing the text: its hunks, a line
;; with buttons above it, and the keys in the header line.

;;; Code:

(require 'jumpseat-edit)

(defface jumpseat-rewrite-region '((t :inherit highlight))
  "Text that is being rewritten."
  :group 'jumpseat)

(defface jumpseat-rewrite-line '((t :inherit shadow))
  "The line above a rewrite."
  :group 'jumpseat)

;;; The header line

(defun jumpseat--preview-describe-place ()
  "Return the header line: the place of point among the rewrites, and the keys."
  (when-let ((edit (jumpseat--edit-find-current)))
    (let* ((edits (jumpseat--edit-list-sorted))
           (shown (and (jumpseat--edit-replacement edit) (jumpseat--hunks-find-shown edit)))
           (change (and (cdr shown)
                        (format "change %d/%d"
                                (1+ (seq-position shown (jumpseat--hunks-find-current shown)))
                                (length shown)))))
      (jumpseat--view-cut
       (concat (cond ((cdr edits)
                      (concat (format "Rewrite %d/%d" (1+ (seq-position edits edit)) (length edits))
                              (and change (concat ", " change)) ": "))
                     (change (concat (capitalize change) ": "))
                     (t "Rewrite: "))
               (jumpseat--edit-keys edit))
       (jumpseat--view-find-width) "[,;] "))))

(defun jumpseat-preview--format-keys (hunks)
  "Describe the keys for a rewrite; HUNKS is the number of its hunks.
HUNKS is nil while the model is writing."
  (substitute-command-keys
   (pcase hunks
     ('nil "\\[jumpseat-rewrite-reject] stops")
     (1 "\\[jumpseat-rewrite-accept] accept, \\[jumpseat-rewrite-reject] reject, \
\\[jumpseat-rewrite-again] again, \\[jumpseat-rewrite-diff] diff")
     (_ "\\[jumpseat-rewrite-accept-change] accept, \\[jumpseat-rewrite-reject-change] reject; \
all: \\[jumpseat-rewrite-accept], \\[jumpseat-rewrite-reject]; \
\\[jumpseat-rewrite-again] again, \\[jumpseat-rewrite-diff] diff"))))

;;; The line above the text

(defvar jumpseat--preview-buttons nil
  "The buttons above finished rewrites, an alist of labels and commands.")
(defvar jumpseat--preview-running-buttons nil
  "The buttons above rewrites that are being written.
An alist of labels and commands.")

(defun jumpseat-preview--make-line (edit finished)
  "Return the line above the text of EDIT, which is FINISHED or being written.
The instruction is cut if the line would be too long for a window."
  (let* ((model (plist-get (jumpseat--edit-options edit) :model))
         (label (if finished "Rewrite: " "Rewriting: "))
         (end (concat (and model (format " (%s)" model)) "  "))
         (buttons (mapconcat
                   (lambda (button) (jumpseat--view-make-button (car button) (cdr button) t))
                   (if finished jumpseat--preview-buttons jumpseat--preview-running-buttons)
                   " "))
         (room (- (jumpseat--view-find-width) (string-width label) (string-width end)
                  (string-width buttons) 1))
         (instruction (replace-regexp-in-string "[ \t\n]+" " " (jumpseat--edit-instruction edit))))
    (when (< room 8)
      (setq room (max 8 (+ room (string-width label)))
            label ""))
    (concat (propertize
             (concat label (truncate-string-to-width instruction room nil nil "…") end)
             'face 'jumpseat-rewrite-line)
            buttons "\n")))

(defun jumpseat-preview--show-line (edit finished)
  "Show the line above the text of EDIT, which is FINISHED or being written."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (jumpseat--edit-start edit))
      (let ((line (line-beginning-position)))
        (overlay-put (if (bolp) (jumpseat--edit-region edit)
                       ;; Put the string at the start of the line: it ends with
                       ;; a newline, which would split the line in the middle.
                       (jumpseat--view-put-overlay line (point) edit))
                     'before-string (jumpseat-preview--make-line edit finished))))))

;;; The text

(defun jumpseat--preview-start (edit)
  "Show that EDIT is being written."
  (overlay-put (jumpseat--edit-region edit) 'face 'jumpseat-rewrite-region)
  (setf (jumpseat--edit-keys edit) (jumpseat-preview--format-keys nil))
  (jumpseat-preview--show-line edit nil))

(defun jumpseat--preview-show-part (edit)
  "Show the complete lines of the unfinished answer of EDIT."
  (let* ((text (jumpseat-preview--remove-fence (jumpseat--edit-answer edit)))
         (new (if (string-match ".*\\'" text) (substring text 0 (match-beginning 0)) ""))
         (lines (length (split-string new "\n" t)))
         (sent (jumpseat--edit-sent edit)))
    ;; Compare with the same number of lines of the old text.  In a regexp, a
    ;; repeat count cannot be higher than 65535.
    (jumpseat--edit-show
     edit (if (string-match (format "\\`\\(?:.*\n\\)\\{,%d\\}" (min lines 65535)) sent)
              (match-string 0 sent)
            "")
     new)
    (jumpseat-preview--show-line edit nil)))

(defun jumpseat--preview-review (edit)
  "Show the remaining hunks of EDIT, and return their number."
  (overlay-put (jumpseat--edit-region edit) 'face nil)
  (let ((count (save-restriction
                 (widen)
                 (jumpseat--edit-show edit (jumpseat--edit-sent edit)
                                      (jumpseat--edit-replacement edit)))))
    (mapc #'jumpseat-preview--add-mouse (jumpseat--hunks-find-shown edit))
    (setf (jumpseat--edit-keys edit) (jumpseat-preview--format-keys count))
    (jumpseat-preview--show-line edit t)
    count))

(defvar jumpseat--preview-hunk-map (make-sparse-keymap)
  "Keymap on the hunks of finished rewrites; jumpseat-settle.el binds the mouse.")

(defun jumpseat-preview--add-mouse (hunk)
  "Let the mouse act on the overlay HUNK, and explain the keys."
  (let ((values (list 'keymap jumpseat--preview-hunk-map
                      'help-echo (substitute-command-keys
                                  "\\[jumpseat-rewrite-accept-change] accepts this change, \
\\[jumpseat-rewrite-reject-change] rejects it, mouse-3 shows a menu"))))
    (cl-loop for (key value) on values by #'cddr do (overlay-put hunk key value))
    (dolist (key '(before-string after-string))
      (when-let ((text (overlay-get hunk key)))
        (overlay-put hunk key (apply #'propertize text values))))))

(defun jumpseat--preview-hide (edit)
  "Hide the hunks of EDIT, whose text has changed or is shown elsewhere."
  (jumpseat--view-clear edit)
  (overlay-put (jumpseat--edit-region edit) 'face nil)
  (setf (jumpseat--edit-keys edit) (jumpseat-preview--format-keys 1))
  (jumpseat-preview--show-line edit t))

(defun jumpseat-preview--remove-fence (answer)
  "Remove a fence around ANSWER.
This is only for the preview: the daemon removes the fence from the result."
  (replace-regexp-in-string
   "\n```[ \t\n]*\\'" "\n"
   (replace-regexp-in-string "\\`[ \t\n]*```.*\n" "" answer)))

(provide 'jumpseat-preview)
;;; jumpseat-preview.el ends here
