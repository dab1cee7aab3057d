;;; jumpseat-rewrite.el --- Rewrite a region in place  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The daemon rewrites the region; the change is shown in the buffer without changing it, and
;; applied if the text is still what was sent.

;;; Code:

(require 'diff-mode)
(require 'jumpseat-region)
(require 'jumpseat-turn)
(require 'jumpseat-view)

(defface jumpseat-rewrite-old '((t :inherit diff-removed))
  "Text that a rewrite would remove."
  :group 'jumpseat)

(defface jumpseat-rewrite-new '((t :inherit diff-added))
  "Text that a rewrite would insert."
  :group 'jumpseat)

(defface jumpseat-rewrite-region '((t :inherit highlight))
  "Text that is being rewritten."
  :group 'jumpseat)

(defvar jumpseat-rewrite-ended-functions nil
  "Functions that are called in a buffer when a rewrite can be reviewed or failed.
Their argument says whether there is a change to review.")

(cl-defstruct (jumpseat-rewrite--edit (:constructor jumpseat-rewrite--make) (:copier nil))
  region                     ; the overlay over the text
  sent                       ; the text
  instruction
  (answer "")                ; what the model has written so far
  (replacement nil)          ; the text that replaces it
  turn)

(defconst jumpseat-rewrite--pause 1
  "The message of a failed rewrite stays until you have paused for so many seconds.
Typing while it appears would remove it unread.")

(defvar-local jumpseat-rewrite--edit nil "The rewrite that is open in this buffer.")

(defvar jumpseat-rewrite-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-a") #'jumpseat-rewrite-accept)
    (define-key map (kbd "C-c C-k") #'jumpseat-rewrite-reject)
    (define-key map (kbd "C-c C-r") #'jumpseat-rewrite-again)
    (define-key map (kbd "C-c C-d") #'jumpseat-rewrite-diff)
    map)
  "Keys while a rewrite is open.")

(easy-menu-define jumpseat-rewrite-menu jumpseat-rewrite-mode-map
  "Menu while a rewrite is open."
  '("Jumpseat"
    ["Accept" jumpseat-rewrite-accept]
    ["Reject or Stop" jumpseat-rewrite-reject]
    ["Ask Again..." jumpseat-rewrite-again]
    ["Show Difference" jumpseat-rewrite-diff]))

(define-minor-mode jumpseat-rewrite-mode
  "The mode of a buffer while a rewrite is open in it; the rewrite switches it."
  :lighter (:eval (jumpseat-view-lighter))
  :interactive nil)

;;; The preview

(defun jumpseat-rewrite--same (old new)
  "How many elements at the beginning of the lists OLD and NEW are equal."
  (let ((count 0))
    (while (and old new (equal (car old) (car new)))
      (setq count (1+ count) old (cdr old) new (cdr new)))
    count))

(defun jumpseat-rewrite--lines (text)
  "The lines of TEXT, each with its line end."
  (let ((start 0) lines)
    (while (string-match "[^\n]*\n\\|[^\n]+\\'" text start)
      (push (match-string 0 text) lines)
      (setq start (match-end 0)))
    (nreverse lines)))

(defun jumpseat-rewrite--show (edit text partly)
  "Show TEXT as the new text of EDIT; PARTLY means that more will come."
  (let* ((old (jumpseat-rewrite--lines (jumpseat-rewrite--edit-sent edit)))
         (new (jumpseat-rewrite--lines text))
         (old (if partly (seq-take old (length new)) old))
         (head (jumpseat-rewrite--same old new))
         (tail (if partly 0
                 (jumpseat-rewrite--same (reverse (nthcdr head old)) (reverse (nthcdr head new)))))
         (removed (string-join (butlast (nthcdr head old) tail)))
         (added (string-join (butlast (nthcdr head new) tail)))
         (beg (+ (overlay-start (jumpseat-rewrite--edit-region edit))
                 (length (string-join (seq-take old head)))))
         (end (+ beg (length removed))))
    (jumpseat-view-clear 'preview)
    (overlay-put (jumpseat-rewrite--edit-region edit) 'face (and partly 'jumpseat-rewrite-region))
    (when (< beg end)
      (overlay-put (jumpseat-view--overlay beg end 'preview) 'face 'jumpseat-rewrite-old))
    (unless (string-empty-p added)
      (let ((open (and (> end (point-min)) (not (eq (char-before end) ?\n)))))
        (overlay-put (jumpseat-view--overlay end end 'preview) 'after-string
                     (propertize (concat (and open "\n") added
                                         (and (not open) (not (string-suffix-p "\n" added)) "\n"))
                                 'face 'jumpseat-rewrite-new 'cursor t))))))

(defun jumpseat-rewrite--unfenced (answer)
  "ANSWER without a fence around it.
Only for the preview: the daemon removes the fence from the result."
  (replace-regexp-in-string
   "\n```[ \t\n]*\\'" "\n"
   (replace-regexp-in-string "\\`[ \t\n]*```.*\n" "" answer)))

(defun jumpseat-rewrite--stream (buffer edit deltas)
  "Show DELTAS of EDIT in BUFFER."
  (dolist (delta deltas)
    (pcase (plist-get delta :type)
      ("text_delta" (setf (jumpseat-rewrite--edit-answer edit)
                          (concat (jumpseat-rewrite--edit-answer edit) (plist-get delta :text))))
      ("response" (setf (jumpseat-rewrite--edit-answer edit) ""))))
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (save-restriction
        (widen)
        (when (and (eq jumpseat-rewrite--edit edit)
                   (not (string-empty-p (jumpseat-rewrite--edit-answer edit)))
                   (jumpseat-rewrite--unchanged-p edit))
          (jumpseat-view-update :state 'streaming)
          ;; The last line is not complete.
          (let ((text (jumpseat-rewrite--unfenced (jumpseat-rewrite--edit-answer edit))))
            (jumpseat-rewrite--show
             edit (if (string-match ".*\\'" text) (substring text 0 (match-beginning 0)) "")
             t)))))))

;;; Start and end

(defun jumpseat-rewrite--unchanged-p (edit)
  "Whether the text of EDIT is what was sent."
  (let ((region (jumpseat-rewrite--edit-region edit)))
    (and (overlay-buffer region)
         (save-restriction
           (widen)
           (equal (buffer-substring-no-properties (overlay-start region) (overlay-end region))
                  (jumpseat-rewrite--edit-sent edit))))))

(defun jumpseat-rewrite--clear ()
  "Remove the rewrite of this buffer."
  (when-let ((edit jumpseat-rewrite--edit))
    (delete-overlay (jumpseat-rewrite--edit-region edit))
    (setq jumpseat-rewrite--edit nil))
  (jumpseat-view-clear 'preview)
  (jumpseat-view-update :state nil)
  (remove-hook 'kill-buffer-hook #'jumpseat-rewrite-stop t)
  (remove-hook 'change-major-mode-hook #'jumpseat-rewrite--drop t)
  (jumpseat-rewrite-mode -1))

(defun jumpseat-rewrite--drop ()
  "Stop the rewrite of this buffer, which is reverted or gets another major mode."
  (jumpseat-rewrite-stop)
  (jumpseat-rewrite--clear)
  (jumpseat-say "The rewrite was dropped: its buffer was reverted, or got another major mode."))

(defun jumpseat-rewrite--finish (buffer edit outcome)
  "End EDIT of BUFFER with OUTCOME."
  (setf (jumpseat-rewrite--edit-turn edit) nil)
  (when (and (buffer-live-p buffer)
             (eq edit (buffer-local-value 'jumpseat-rewrite--edit buffer)))
    (with-current-buffer buffer
      (let* ((result (plist-get outcome :result))
             (replacement (plist-get result :replacement))
             (start (overlay-start (jumpseat-rewrite--edit-region edit))))
        (jumpseat-view-update :state nil)
        (if replacement
            (progn
              (setf (jumpseat-rewrite--edit-replacement edit)
                    ;; Emacs keeps line ends apart from the text.
                    (if (string-search "\r" (jumpseat-rewrite--edit-sent edit)) replacement
                      (string-replace "\r" "" replacement)))
              (when (jumpseat-rewrite--unchanged-p edit)
                (save-restriction
                  (widen)
                  (jumpseat-rewrite--show edit (jumpseat-rewrite--edit-replacement edit) nil)))
              (jumpseat-say "Review the change: %s accepts, %s rejects, %s asks again."
                            (jumpseat-keys 'jumpseat-rewrite-accept)
                            (jumpseat-keys 'jumpseat-rewrite-reject)
                            (jumpseat-keys 'jumpseat-rewrite-again)))
          (jumpseat-rewrite--clear)
          (cond ((plist-get outcome :cancelled) (jumpseat-say "The rewrite was stopped."))
                (result (jumpseat-say "The model gave no text to apply: %s"
                                      (string-trim (plist-get result :text))))
                (t (jumpseat-say-error (plist-get outcome :error))
                   (jumpseat-view-error start (plist-get outcome :error))
                   (run-with-idle-timer jumpseat-rewrite--pause nil
                                        #'jumpseat-rewrite--forget-next buffer))))
        (run-hook-with-args 'jumpseat-rewrite-ended-functions (and replacement t))))))

(defun jumpseat-rewrite--forget-next (buffer)
  "Remove the message of a failed rewrite from BUFFER by the next command there."
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (add-hook 'pre-command-hook #'jumpseat-rewrite--forget nil t))))

(defun jumpseat-rewrite--forget ()
  "Remove the message of a failed rewrite."
  (remove-hook 'pre-command-hook #'jumpseat-rewrite--forget t)
  (jumpseat-view-clear))

(defun jumpseat-rewrite--begin (beg end instruction)
  "Rewrite the text from BEG to END of this buffer by INSTRUCTION."
  (when (string-blank-p instruction) (user-error "No instruction"))
  (jumpseat-rewrite--clear)
  (jumpseat-view-clear)
  (let* ((buffer (current-buffer))
         ;; What is typed at an end stays outside.
         (region (make-overlay beg end nil t nil))
         (edit (jumpseat-rewrite--make
                :region region :instruction instruction
                :sent (save-restriction (widen) (buffer-substring-no-properties beg end)))))
    (overlay-put region 'face 'jumpseat-rewrite-region)
    (setq jumpseat-rewrite--edit edit)
    (jumpseat-rewrite-mode)
    (jumpseat-view-update :state 'waiting)
    (add-hook 'kill-buffer-hook #'jumpseat-rewrite-stop nil t)
    (add-hook 'change-major-mode-hook #'jumpseat-rewrite--drop nil t)
    (setf (jumpseat-rewrite--edit-turn edit)
          (jumpseat-turn-start
           "edit/start"
           (list :target (jumpseat-region-block beg end) :instruction instruction
                 :model jumpseat-model
                 ;; An edit that is cut off cannot be applied.
                 :maxTokensDefault "model")
           (lambda (deltas) (jumpseat-rewrite--stream buffer edit deltas))
           (lambda (outcome) (jumpseat-rewrite--finish buffer edit outcome))))))

;;;###autoload
(defun jumpseat-rewrite (beg end instruction)
  "Rewrite the text from BEG to END by INSTRUCTION: the region, else this line.
The change is shown, and applied with \\<jumpseat-rewrite-mode-map>\\[jumpseat-rewrite-accept]."
  (interactive
   (progn
     (barf-if-buffer-read-only)
     (when jumpseat-rewrite--edit
       (user-error "A rewrite is open in this buffer: accept or reject it first"))
     (append (or (jumpseat-region-active)
                 (list (line-beginning-position) (min (point-max) (1+ (line-end-position)))))
             (list (read-string "Rewrite how? ")))))
  (deactivate-mark)
  (jumpseat-rewrite--begin beg end instruction))

(defun jumpseat-rewrite--open ()
  "The rewrite of this buffer; signals a `user-error' if there is none."
  (or jumpseat-rewrite--edit (user-error "There is no rewrite in this buffer")))

(defun jumpseat-rewrite--finished ()
  "The rewrite of this buffer, which can be reviewed.
Signals a `user-error' if there is none, or if it is still being written."
  (let ((edit (jumpseat-rewrite--open)))
    (unless (jumpseat-rewrite--edit-replacement edit)
      (user-error "The rewrite is still being written; %s stops it"
                  (jumpseat-keys 'jumpseat-rewrite-reject)))
    edit))

(defun jumpseat-rewrite-accept ()
  "Apply the rewritten text, in one step of undo."
  (interactive)
  (barf-if-buffer-read-only)
  (let* ((edit (jumpseat-rewrite--finished))
         (region (jumpseat-rewrite--edit-region edit))
         (replacement (jumpseat-rewrite--edit-replacement edit)))
    (if (not (jumpseat-rewrite--unchanged-p edit))
        (progn
          (jumpseat-rewrite-diff)
          (jumpseat-rewrite--clear)
          (jumpseat-say "The text was changed since it was sent. The new text is beside it."))
      (let ((beg (overlay-start region)) (end (overlay-end region)))
        (jumpseat-rewrite--clear)
        (undo-boundary)
        (save-restriction
          (widen)
          (narrow-to-region beg end)
          (replace-region-contents (point-min) (point-max) (lambda () replacement) 0.5))
        (undo-boundary)))))

(defun jumpseat-rewrite-reject ()
  "Drop the rewritten text, and stop what is under way."
  (interactive)
  (jumpseat-rewrite--open)
  (jumpseat-rewrite-stop)
  (jumpseat-rewrite--clear))

(defun jumpseat-rewrite-again (instruction)
  "Rewrite the same text again, by INSTRUCTION."
  (interactive
   (list (read-string "Rewrite how? "
                      (jumpseat-rewrite--edit-instruction (jumpseat-rewrite--finished)))))
  (let ((region (jumpseat-rewrite--edit-region (jumpseat-rewrite--finished))))
    (jumpseat-rewrite--begin (overlay-start region) (overlay-end region) instruction)))

(defun jumpseat-rewrite-diff ()
  "Show the difference between this buffer and the rewritten one."
  (interactive)
  (let* ((edit (jumpseat-rewrite--finished))
         (region (jumpseat-rewrite--edit-region edit))
         (source (current-buffer))
         (mode major-mode)
         (default-directory (jumpseat-local-directory))
         (new (get-buffer-create (format "*jumpseat rewrite: %s*" (buffer-name)))))
    (with-current-buffer new
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert-buffer-substring-no-properties source)
        (delete-region (overlay-start region) (overlay-end region))
        (goto-char (overlay-start region))
        (insert (jumpseat-rewrite--edit-replacement edit))
        (delay-mode-hooks (funcall mode))
        (setq buffer-read-only t)))
    (if (executable-find "diff")
        (diff-buffers source new nil t)
      (display-buffer new))))

(defun jumpseat-rewrite-stop ()
  "Stop the rewrite of this buffer, and return whether there was one."
  (when-let ((turn (and jumpseat-rewrite--edit
                        (jumpseat-rewrite--edit-turn jumpseat-rewrite--edit))))
    (jumpseat-turn-stop turn)
    t))

(provide 'jumpseat-rewrite)
;;; jumpseat-rewrite.el ends here
