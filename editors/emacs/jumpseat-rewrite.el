;;; jumpseat-rewrite.el --- Rewrite a region in place  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The daemon rewrites the region.  The change is shown in the buffer without
;; changing it, and applied if the text is still the one that was sent.

;;; Code:

(require 'jumpseat-edit)
(require 'jumpseat-region)
(require 'jumpseat-turn)
(require 'jumpseat-workspace)

(defface jumpseat-rewrite-region '((t :inherit highlight))
  "Text that is being rewritten."
  :group 'jumpseat)

(defcustom jumpseat-rewrite-ended-functions nil
  "Functions that are called in a buffer when a rewrite can be reviewed or failed.
Their argument says whether there is a change to review."
  :type 'hook
  :group 'jumpseat)

(defconst jumpseat-rewrite--pause 1
  "The idle seconds until a command removes the message of a failed rewrite.
Without this delay, typing while the message appears would remove it unread.")

(defvar-local jumpseat-rewrite--edit nil "The open rewrite in this buffer.")

(defvar jumpseat-rewrite-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-a") #'jumpseat-rewrite-accept)
    (define-key map (kbd "C-c C-k") #'jumpseat-rewrite-reject)
    (define-key map (kbd "C-c C-y") #'jumpseat-rewrite-accept-change)
    (define-key map (kbd "C-c C-x") #'jumpseat-rewrite-reject-change)
    (define-key map (kbd "C-c C-n") #'jumpseat-rewrite-next-change)
    (define-key map (kbd "C-c C-p") #'jumpseat-rewrite-previous-change)
    (define-key map (kbd "C-c C-r") #'jumpseat-rewrite-again)
    (define-key map (kbd "C-c C-d") #'jumpseat-rewrite-diff)
    map)
  "Keymap for buffers with an open rewrite.")

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
    ["Ask Again..." jumpseat-rewrite-again]
    ["Show Difference" jumpseat-rewrite-diff]))

(defvar-local jumpseat-rewrite--outer-header nil
  "A list of the buffer's original header line, or nil if it had none.")

(define-minor-mode jumpseat-rewrite-mode
  "The mode of a buffer while a rewrite is open in it.
The rewrite turns it on and off.  The header line shows the keys."
  :lighter (:eval (jumpseat--view-lighter))
  :interactive nil
  (cond (jumpseat-rewrite-mode
         (setq jumpseat-rewrite--outer-header
               (and (local-variable-p 'header-line-format) (list header-line-format))
               header-line-format '((:eval (jumpseat-rewrite--describe-place))
                                    jumpseat-rewrite--hint)))
        (jumpseat-rewrite--outer-header
         (setq header-line-format (car jumpseat-rewrite--outer-header)))
        (t (kill-local-variable 'header-line-format))))

;;; The header line

(defvar-local jumpseat-rewrite--hint nil
  "The keys in the header line.
They are cached, because redisplay would look them up often and slowly.")

(defun jumpseat-rewrite--describe-place ()
  "Return the start of the header line: the number of the current hunk."
  (let ((shown (and (jumpseat--edit-replacement jumpseat-rewrite--edit)
                    (jumpseat--hunks-find-shown))))
    (if (cdr shown)
        (format "Change %d/%d: " (1+ (seq-position shown (jumpseat--hunks-find-current shown)))
                (length shown))
      "Rewrite: ")))

(defun jumpseat-rewrite--hint (hunks)
  "Describe the keys for a rewrite with HUNKS, nil while it is being written."
  (substitute-command-keys
   (pcase hunks
     ('nil "\\[jumpseat-rewrite-reject] stops")
     (1 "\\[jumpseat-rewrite-accept] accept, \\[jumpseat-rewrite-reject] reject, \
\\[jumpseat-rewrite-again] again, \\[jumpseat-rewrite-diff] diff")
     (_ "\\[jumpseat-rewrite-accept-change] accept, \\[jumpseat-rewrite-reject-change] reject; \
all: \\[jumpseat-rewrite-accept], \\[jumpseat-rewrite-reject]; \
\\[jumpseat-rewrite-again] again, \\[jumpseat-rewrite-diff] diff"))))

;;; The preview

(defun jumpseat-rewrite--show-part (edit)
  "Show the complete lines of the unfinished answer of EDIT."
  (let* ((text (jumpseat-rewrite--remove-fence (jumpseat--edit-answer edit)))
         (new (if (string-match ".*\\'" text) (substring text 0 (match-beginning 0)) ""))
         (lines (length (split-string new "\n" t)))
         (sent (jumpseat--edit-sent edit)))
    (jumpseat--edit-show
     edit (if (string-match (format "\\`\\(?:.*\n\\)\\{,%d\\}" (min lines 65535)) sent)
              (match-string 0 sent)
            "")
     new)))

(defun jumpseat-rewrite--review (edit)
  "Show the remaining hunks of EDIT, or end it if there are none.
Return their number."
  (let ((count (save-restriction
                 (widen)
                 (jumpseat--edit-show edit (jumpseat--edit-sent edit)
                                      (jumpseat--edit-replacement edit)))))
    (if (zerop count) (jumpseat-rewrite--clear)
      (setq jumpseat-rewrite--hint (jumpseat-rewrite--hint count)))
    count))

(defun jumpseat-rewrite--remove-fence (answer)
  "Remove a fence around ANSWER.
This is only for the preview: the daemon removes the fence from the result."
  (replace-regexp-in-string
   "\n```[ \t\n]*\\'" "\n"
   (replace-regexp-in-string "\\`[ \t\n]*```.*\n" "" answer)))

(defun jumpseat-rewrite--stream (buffer edit deltas)
  "Show DELTAS of EDIT in BUFFER."
  (dolist (delta deltas)
    (pcase (plist-get delta :type)
      ("text_delta" (setf (jumpseat--edit-answer edit)
                          (concat (jumpseat--edit-answer edit) (plist-get delta :text))))
      ("response" (setf (jumpseat--edit-answer edit) ""))))
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (save-restriction
        (widen)
        (when (and (eq jumpseat-rewrite--edit edit)
                   (not (string-empty-p (jumpseat--edit-answer edit)))
                   (jumpseat--edit-unchanged-p edit))
          (jumpseat--view-update :state 'streaming)
          (jumpseat-rewrite--show-part edit))))))

;;; Start and end

(defun jumpseat-rewrite--clear ()
  "Remove the rewrite of this buffer."
  (when-let ((edit jumpseat-rewrite--edit))
    (delete-overlay (jumpseat--edit-region edit))
    (setq jumpseat-rewrite--edit nil))
  (jumpseat--view-clear 'preview)
  (jumpseat--view-update :state nil)
  (remove-hook 'kill-buffer-hook #'jumpseat--rewrite-stop t)
  (remove-hook 'change-major-mode-hook #'jumpseat-rewrite--drop t)
  (when jumpseat-rewrite-mode (jumpseat-rewrite-mode -1)))

(defun jumpseat-rewrite--drop ()
  "Drop the rewrite of a buffer that is reverted or gets another major mode."
  (jumpseat--rewrite-stop)
  (jumpseat-rewrite--clear)
  (jumpseat--say "The rewrite was discarded because its buffer was reverted or its major mode changed."))

(defun jumpseat-rewrite--offer (edit replacement)
  "Let the user review REPLACEMENT for the text of EDIT.
Return non-nil if there is anything to review."
  (let ((start (overlay-start (jumpseat--edit-region edit)))
        (end (overlay-end (jumpseat--edit-region edit))))
    (overlay-put (jumpseat--edit-region edit) 'face nil)
    (setf (jumpseat--edit-replacement edit)
          (save-restriction
            (widen)
            (jumpseat--hunks-fontify start end replacement)))
    (cond
     ((not (jumpseat--edit-unchanged-p edit))
      (jumpseat--view-clear 'preview)
      (setq jumpseat-rewrite--hint (jumpseat-rewrite--hint 1))
      t)
     ((zerop (jumpseat-rewrite--review edit))
      (jumpseat--say "The model changed nothing.")
      nil)
     (t (jumpseat--say "The rewrite is ready.")
        t))))

(defun jumpseat-rewrite--fail (outcome start)
  "End the rewrite of this buffer, whose text is at START, and show the reason.
OUTCOME has no replacement text."
  (jumpseat-rewrite--clear)
  (let ((result (plist-get outcome :result)) (err (plist-get outcome :error)))
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
             (eq edit (buffer-local-value 'jumpseat-rewrite--edit buffer)))
    (with-current-buffer buffer
      (jumpseat--view-update :state nil)
      (let ((replacement (jumpseat--get outcome :result :replacement)))
        (run-hook-with-args
         'jumpseat-rewrite-ended-functions
         (if replacement
             (jumpseat-rewrite--offer
              edit
              ;; Emacs stores line ends separately, so a carriage return is
              ;; text, and wanted only if the old text had one.
              (if (string-search "\r" (jumpseat--edit-sent edit)) replacement
                (string-replace "\r" "" replacement)))
           (jumpseat-rewrite--fail
            outcome (overlay-start (jumpseat--edit-region edit)))
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

(defun jumpseat-rewrite--begin (beg end instruction)
  "Rewrite the text from BEG to END of this buffer according to INSTRUCTION."
  (when (string-blank-p instruction) (user-error "No instruction"))
  (jumpseat-rewrite--clear)
  (jumpseat--view-clear)
  (let* ((buffer (current-buffer))
         ;; Text typed at either end stays outside.
         (region (make-overlay beg end nil t nil))
         (edit (jumpseat--edit-make
                :region region :instruction instruction
                :sent (save-restriction (widen) (buffer-substring-no-properties beg end)))))
    (overlay-put region 'face 'jumpseat-rewrite-region)
    (setq jumpseat-rewrite--edit edit)
    (jumpseat-rewrite-mode)
    (setq jumpseat-rewrite--hint (jumpseat-rewrite--hint nil))
    (jumpseat--view-update :state 'waiting)
    (add-hook 'kill-buffer-hook #'jumpseat--rewrite-stop nil t)
    (add-hook 'change-major-mode-hook #'jumpseat-rewrite--drop nil t)
    (setf (jumpseat--edit-turn edit)
          (jumpseat--turn-start
           "edit/start"
           (append (list :target (jumpseat--region-block beg end) :instruction instruction
                         :model jumpseat-model
                         ;; A truncated rewrite cannot be applied.
                         :maxTokensDefault "model")
                   (jumpseat--workspace-params nil))
           (lambda (deltas) (jumpseat-rewrite--stream buffer edit deltas))
           (lambda (outcome) (jumpseat-rewrite--finish buffer edit outcome))))))

(defun jumpseat-rewrite (beg end instruction)
  "Rewrite the text from BEG to END, following INSTRUCTION.
Interactively, this is the region, or else the current line.
The change is shown; apply it with \\<jumpseat-rewrite-mode-map>\\[jumpseat-rewrite-accept]."
  (interactive
   (progn
     (barf-if-buffer-read-only)
     (when jumpseat-rewrite--edit
       (user-error "This buffer already has a rewrite: accept or reject it first"))
     (append (or (jumpseat--region-active)
                 (list (line-beginning-position) (min (point-max) (1+ (line-end-position)))))
             (list (read-string "Rewrite how? ")))))
  (deactivate-mark)
  (jumpseat-rewrite--begin beg end instruction))

(defun jumpseat-rewrite--get-open ()
  "Return the rewrite of this buffer, or signal a `user-error'."
  (or jumpseat-rewrite--edit (user-error "There is no rewrite in this buffer")))

(defun jumpseat-rewrite--get-finished ()
  "Return the finished rewrite of this buffer.
Signal a `user-error' if there is none, or if it is still being written."
  (let ((edit (jumpseat-rewrite--get-open)))
    (unless (jumpseat--edit-replacement edit)
      (user-error "The rewrite is still being written; %s stops it"
                  (substitute-command-keys "\\[jumpseat-rewrite-reject]")))
    edit))

(defun jumpseat-rewrite--put-beside ()
  "Show the new text beside this buffer, because the old text has changed."
  (jumpseat-rewrite-diff)
  (jumpseat-rewrite--clear)
  (jumpseat--say "The text has changed since it was sent, so the rewrite was not applied. The new text is shown beside it."))

(defun jumpseat-rewrite-accept ()
  "Apply every change, in one step of undo."
  (interactive)
  (barf-if-buffer-read-only)
  (let* ((edit (jumpseat-rewrite--get-finished))
         (region (jumpseat--edit-region edit)))
    (if (not (jumpseat--edit-unchanged-p edit)) (jumpseat-rewrite--put-beside)
      (let ((beg (overlay-start region)) (end (overlay-end region)))
        (jumpseat-rewrite--clear)
        (jumpseat--edit-replace beg end (jumpseat--edit-replacement edit))))))

(defun jumpseat-rewrite--settle (settle)
  "Call SETTLE with the rewrite and the current hunk, and go to the next hunk."
  (barf-if-buffer-read-only)
  (let ((edit (jumpseat-rewrite--get-finished)))
    (if (not (jumpseat--edit-unchanged-p edit)) (jumpseat-rewrite--put-beside)
      ;; After an undo, the hunks shown are out of date.
      (jumpseat-rewrite--review edit)
      (let ((current (jumpseat--hunks-find-current (jumpseat--hunks-find-shown))))
        (goto-char (overlay-start current))
        (save-excursion
          (save-restriction
            (widen)
            (funcall settle edit (overlay-get current 'jumpseat-hunk))))
        (unless (zerop (jumpseat-rewrite--review edit))
          (goto-char (overlay-start (jumpseat--hunks-find-current (jumpseat--hunks-find-shown)))))))))

(defun jumpseat-rewrite-accept-change ()
  "Apply the change at point, or else the next one, in one step of undo."
  (interactive)
  (jumpseat-rewrite--settle #'jumpseat--edit-apply-hunk))

(defun jumpseat-rewrite-reject-change ()
  "Discard the change at point, or else the next one."
  (interactive)
  (jumpseat-rewrite--settle #'jumpseat--edit-drop-hunk))

(defun jumpseat-rewrite-next-change (&optional count)
  "Move to the next change, or the COUNTth."
  (interactive "p")
  (jumpseat-rewrite--get-finished)
  (jumpseat--hunks-move (or count 1)))

(defun jumpseat-rewrite-previous-change (&optional count)
  "Move to the previous change, or the COUNTth."
  (interactive "p")
  (jumpseat-rewrite-next-change (- (or count 1))))

(defun jumpseat-rewrite-reject ()
  "Discard every change that was not accepted, and stop the rewrite."
  (interactive)
  (jumpseat-rewrite--get-open)
  (jumpseat--rewrite-stop)
  (jumpseat-rewrite--clear))

(defun jumpseat-rewrite-again (instruction)
  "Rewrite the same text again, following INSTRUCTION."
  (interactive
   (list (read-string "Rewrite how? "
                      (jumpseat--edit-instruction (jumpseat-rewrite--get-finished)))))
  (let ((region (jumpseat--edit-region (jumpseat-rewrite--get-finished))))
    (jumpseat-rewrite--begin (overlay-start region) (overlay-end region) instruction)))

(defun jumpseat-rewrite-diff ()
  "Show the difference between this buffer and the rewritten one."
  (interactive)
  (let* ((edit (jumpseat-rewrite--get-finished))
         (region (jumpseat--edit-region edit))
         (source (current-buffer))
         (mode major-mode)
         (default-directory (jumpseat--local-directory))
         (new (get-buffer-create (format "*jumpseat rewrite: %s*" (buffer-name)))))
    (with-current-buffer new
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert-buffer-substring-no-properties source)
        (delete-region (overlay-start region) (overlay-end region))
        (goto-char (overlay-start region))
        (insert (jumpseat--edit-replacement edit))
        (delay-mode-hooks (funcall mode))
        (setq buffer-read-only t)))
    (if (executable-find "diff")
        (diff-buffers source new nil t)
      (display-buffer new))))

(defun jumpseat--rewrite-stop ()
  "Stop the rewrite of this buffer, and return whether there was one."
  (when-let ((turn (and jumpseat-rewrite--edit
                        (jumpseat--edit-turn jumpseat-rewrite--edit))))
    (jumpseat--turn-stop turn)
    t))

(provide 'jumpseat-rewrite)
;;; jumpseat-rewrite.el ends here
