;;; jumpseat-stream.el --- Write growing text into a buffer  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A writer appends to one text in a buffer that the user may edit at the same
;; time.  It moves point, in any window, only if point was at the end of the
;; text.  All its writes are one undo step, unless something else changes the
;; buffer in between.  The text is fontified once, when it is complete: a major
;; mode for Markdown may need more time to fontify a piece than the model needs to
;; write it.

;;; Code:

(require 'cl-lib)
(require 'jumpseat-core)

(cl-defstruct (jumpseat--writer (:constructor jumpseat-writer--make) (:copier nil))
  buffer
  start                      ; a marker
  end                        ; a marker; text that the user types at it stays outside
  (chunks nil)               ; the pieces written so far, the newest first
  follow                     ; whether point follows the text even if other text is below
  (undo nil)                 ; the undo list after the last write
  (ended nil))               ; whether the text is complete, or was deleted or undone by the user

(defun jumpseat--writer-new (position &optional follow)
  "Create a writer at POSITION in this buffer.
Point follows the text if the text is at the end of the buffer.  With FOLLOW,
point follows it even if other text is below."
  (jumpseat-writer--make :buffer (current-buffer) :start (copy-marker position)
                         :end (copy-marker position) :follow follow))

(defun jumpseat--writer-live-p (writer)
  "Whether more can be written with WRITER.
Return nil if WRITER is closed, or if the user has deleted or undone the text."
  (when (and (buffer-live-p (jumpseat--writer-buffer writer)) (not (jumpseat--writer-ended writer)))
    (when (and (jumpseat--writer-chunks writer)
               (= (jumpseat--writer-start writer) (jumpseat--writer-end writer)))
      (setf (jumpseat--writer-ended writer) t))
    (not (jumpseat--writer-ended writer))))

(defun jumpseat--writer-kept-p (writer)
  "Whether the text of WRITER is complete, or more can be written."
  (or (jumpseat--writer-live-p writer)
      (and (buffer-live-p (jumpseat--writer-buffer writer))
           (null (marker-position (jumpseat--writer-start writer))))))

(defun jumpseat-writer--join-undo (writer)
  "Make the next change part of the undo step of WRITER.
If something else has changed the buffer since the last write, start a new step."
  (cond ((eq buffer-undo-list t))
        ((and (jumpseat--writer-undo writer) (null (car buffer-undo-list))
              (eq (cdr buffer-undo-list) (jumpseat--writer-undo writer)))
         (setq buffer-undo-list (cdr buffer-undo-list)))
        ((not (eq buffer-undo-list (jumpseat--writer-undo writer)))
         (undo-boundary))))

(defmacro jumpseat--writer-edit (writer &rest body)
  "Change the buffer of WRITER with BODY, in the undo step of earlier writes."
  (declare (indent 1) (debug t))
  (let ((writer- (make-symbol "writer")))
    `(let ((,writer- ,writer))
       (with-current-buffer (jumpseat--writer-buffer ,writer-)
         (jumpseat-writer--join-undo ,writer-)
         (save-excursion
           (save-restriction
             (widen)
             (let ((inhibit-read-only t)
                   (before (prepare-change-group)))
               (prog1 (progn ,@body)
                 ;; Remove the undo boundaries that BODY adds, for example by
                 ;; calling `replace-region-contents'.
                 (undo-amalgamate-change-group before)
                 (setf (jumpseat--writer-undo ,writer-)
                       (if (eq buffer-undo-list t) nil buffer-undo-list))))))))))

(defun jumpseat-writer--find-followers (writer)
  "Return the windows whose point is at the end of the text of WRITER.
If other text is below, return nil, unless WRITER was created with FOLLOW."
  (let ((end (marker-position (jumpseat--writer-end writer))))
    (when (or (jumpseat--writer-follow writer) (= end (1+ (buffer-size))))
      (seq-filter (lambda (window) (= (window-point window) end))
                  (get-buffer-window-list nil nil t)))))

(defun jumpseat--writer-append (writer text)
  "Add TEXT at the end of the text of WRITER.
If point is at the end and follows the text (see `jumpseat--writer-new'), move
it to the new end, so that the user continues to type after the text.  Do the
same in each window."
  ;; A carriage return would be visible, and would be saved in the file.
  (setq text (replace-regexp-in-string "\r" "" text t t))
  (when (and (jumpseat--writer-live-p writer) (not (string-empty-p text)))
    (with-current-buffer (jumpseat--writer-buffer writer)
      (let* ((end (jumpseat--writer-end writer))
             (followers (jumpseat-writer--find-followers writer))
             (point-follows (and (= (point) end) (or (jumpseat--writer-follow writer) (eobp))))
             ;; Fontification and the hooks of modes would take most of the
             ;; time.  `jumpseat--writer-close' fontifies the text.
             (inhibit-modification-hooks t))
        (jumpseat--writer-edit writer
          (goto-char end)
          (syntax-ppss-flush-cache (point))
          ;; The property `fontified' keeps redisplay from fontifying the text.
          (insert (propertize text 'fontified t))
          (set-marker end (point))
          (push text (jumpseat--writer-chunks writer)))
        (when point-follows (goto-char end))
        (dolist (window followers)
          (set-window-point window end))))))

(defun jumpseat-writer--get-text (writer)
  "Return the text that WRITER has written."
  (let ((text (apply #'concat (reverse (jumpseat--writer-chunks writer)))))
    (setf (jumpseat--writer-chunks writer) (unless (string-empty-p text) (list text)))
    text))

(defun jumpseat-writer--untouched-p (writer)
  "Whether the user has left the text of WRITER unchanged."
  (with-current-buffer (jumpseat--writer-buffer writer)
    (save-restriction
      (widen)
      (equal (buffer-substring-no-properties (jumpseat--writer-start writer)
                                             (jumpseat--writer-end writer))
             (jumpseat-writer--get-text writer)))))

(defun jumpseat--writer-replace (writer text)
  "Replace the text of WRITER with TEXT, but keep the beginning that both share.
Return t, or do nothing and return nil if the user has edited the text."
  (when (jumpseat-writer--untouched-p writer)
    (let* ((text (replace-regexp-in-string "\r" "" text t t))
           (old (jumpseat-writer--get-text writer))
           (same (if (string= old text) (length old)
                   (1- (abs (compare-strings old nil nil text nil nil))))))
      (unless (string= old text)
        (with-current-buffer (jumpseat--writer-buffer writer)
          (let ((followers (jumpseat-writer--find-followers writer))
                (end (jumpseat--writer-end writer)))
            (jumpseat--writer-edit writer
              (goto-char (+ (jumpseat--writer-start writer) same))
              (delete-region (point) end)
              (insert (substring text same))
              (set-marker end (point)))
            (setf (jumpseat--writer-chunks writer)
                  (unless (string-empty-p text) (list text)))
            (dolist (window followers)
              (set-window-point window end))))))
    t))

(defun jumpseat--writer-close (writer)
  "Stop writing with WRITER; the text stays."
  (when (jumpseat--writer-live-p writer)
    (with-current-buffer (jumpseat--writer-buffer writer)
      (save-restriction
        (widen)
        (font-lock-flush (jumpseat--writer-start writer) (jumpseat--writer-end writer)))
      (unless (eq buffer-undo-list t) (undo-boundary)))
    (setf (jumpseat--writer-ended writer) t)
    (set-marker (jumpseat--writer-start writer) nil)
    (set-marker (jumpseat--writer-end writer) nil)))

(provide 'jumpseat-stream)
;;; jumpseat-stream.el ends here
