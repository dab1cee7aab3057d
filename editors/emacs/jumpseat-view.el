;;; jumpseat-view.el --- Display the state of a chat  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Shows a chat's state around its text: the header line and the mode line,
;; labels at headings, messages below lines, and folds.

;;; Code:

(require 'jumpseat-core)

(defvar-local jumpseat-view--status nil
  "The displayed state of this buffer, a property list.
:state is a key of `jumpseat-view--labels', or nil if nothing is running;
:detail is shown instead of its label.  The other keys are :model, :usage,
:quota, :context, :tools and :rules.")

(defconst jumpseat-view--labels
  '((preparing . "sending") (waiting . "waiting") (thinking . "thinking")
    (streaming . "answering") (calling . "running tools") (approving . "needs your approval")
    (retrying . "waiting to retry") (stopping . "stopping"))
  "The labels of the states.")

(defun jumpseat--view-get (key)
  "Return the value of KEY in the status of this buffer."
  (plist-get jumpseat-view--status key))

(defvar-local jumpseat-view--header nil
  "A cons of a width and the text of the header line for it, or nil.
It is cached until the status or the width changes.")
(defvar-local jumpseat-view--hints nil
  "An alist from hints in the header line to the same texts with keys filled in.
It is a cache, because looking up a key can leave 100 KB of garbage.")

(defun jumpseat--view-update (&rest values)
  "Set VALUES, keys and their values, in the status of this buffer."
  (while values
    (setq jumpseat-view--status
          (plist-put jumpseat-view--status (pop values) (pop values))))
  ;; Forget the hints after a turn, because the user may have rebound keys.
  (unless (jumpseat--view-get :state) (setq jumpseat-view--hints nil))
  (setq jumpseat-view--header nil)
  (force-mode-line-update))

(defun jumpseat--view-format-usage (usage)
  "Describe USAGE in a few words, or return nil."
  (when usage
    (let ((cost (plist-get usage :cost)))
      (format "%d → %d tokens%s" (plist-get usage :inputTokens) (plist-get usage :outputTokens)
              (if cost (format " · %.4f %s" (plist-get cost :amount) (plist-get cost :currency))
                "")))))

(defun jumpseat-view--describe-state ()
  "Describe the activity of this buffer in a few words, or return nil."
  (or (jumpseat--view-get :detail)
      (alist-get (jumpseat--view-get :state) jumpseat-view--labels)))

(defun jumpseat--view-header ()
  "Return the text of the header line of a chat.
It is cached, because redisplay calls this for each piece of an answer."
  (let ((width (jumpseat--view-find-width t)))
    (unless (eql width (car jumpseat-view--header))
      (setq jumpseat-view--header (cons width (jumpseat-view--make-header width))))
    (cdr jumpseat-view--header)))

(defun jumpseat--view-find-width (&optional total)
  "Return the width of the narrowest window of this buffer, in characters.
With TOTAL, include the margins, which the header line covers."
  (seq-min (or (mapcar (if total #'window-total-width #'window-body-width)
                       (get-buffer-window-list nil nil t))
               (list (frame-width)))))

(defun jumpseat-view--make-hint (text)
  "Return TEXT with the keys of its commands, from the cache if possible."
  (or (cdr (assoc text jumpseat-view--hints))
      (let ((hint (substitute-command-keys text)))
        (push (cons text hint) jumpseat-view--hints)
        hint)))

(defun jumpseat--view-cut (text width separator)
  "Return TEXT without the parts at its end that go beyond WIDTH columns.
SEPARATOR is a regexp for what is between two parts."
  (while (and (> (string-width text) width)
              (string-match (format ".*\\(%s\\)" separator) text))
    (setq text (substring text 0 (match-beginning 1))))
  text)

(defun jumpseat-view--make-header (width)
  "Create the text of the header line for windows of WIDTH columns."
  (let* ((parts (list (or (jumpseat--view-get :model) "default model")
                      (jumpseat-view--describe-state)
                      (jumpseat--view-format-usage (jumpseat--view-get :usage))
                      (jumpseat--view-get :quota)
                      (jumpseat--view-get :context)
                      (jumpseat--view-get :tools)
                      (jumpseat--view-get :rules)))
         (hint (if (jumpseat--view-get :state)
                   (jumpseat-view--make-hint " \\[jumpseat-stop] stops ")
                 (jumpseat-view--make-hint " \\[jumpseat-send] sends ")))
         (left (jumpseat--view-cut (concat " " (string-join (delq nil parts) " · ")) width " · ")))
    ;; In a header line, a percent sign starts a construct.
    (replace-regexp-in-string
     "%" "%%"
     (concat left
             (when (<= (+ (string-width left) (length hint)) width)
               (concat (propertize " " 'display `(space :align-to (- right ,(length hint))))
                       (propertize hint 'face 'jumpseat-note)))))))

(defun jumpseat--view-lighter ()
  "Return the mode line text for this buffer."
  (let ((state (alist-get (jumpseat--view-get :state) jumpseat-view--labels)))
    (concat " jumpseat" (and state (concat ":" state)))))

(defun jumpseat--view-summary (model usage)
  "Return the label of an answer's heading, with MODEL and USAGE."
  (string-join (delq nil (list model (jumpseat--view-format-usage usage))) " · "))

;;; Overlays

(defun jumpseat--view-put-overlay (beg end kind)
  "Create an overlay of KIND from BEG to END; see `jumpseat--view-clear'."
  (let ((overlay (make-overlay beg end nil t)))
    (overlay-put overlay 'jumpseat-kind kind)
    (overlay-put overlay 'evaporate (< beg end))
    overlay))

(defconst jumpseat--view-cursor (propertize " " 'cursor t)
  "A space to put before text that an overlay shows at the end of a line.
If point is at the end of that line, Emacs draws the cursor on this space, and
not on or after the text.")

(defun jumpseat--view-show-label (position text &optional overlay)
  "Show TEXT after the heading at POSITION, reusing OVERLAY if there is one."
  (let ((overlay (or overlay
                     (jumpseat--view-put-overlay
                      position (save-excursion (goto-char position) (line-end-position))
                      'heading))))
    (overlay-put overlay 'after-string
                 (concat jumpseat--view-cursor (propertize text 'face 'jumpseat-note)))
    overlay))

(defun jumpseat--view-show-below (position text face)
  "Show TEXT in FACE below the line at POSITION, until the next turn.
Return the overlay."
  (let* ((at (save-excursion (goto-char position) (line-end-position)))
         (filled (with-temp-buffer
                   (insert text)
                   (let ((fill-column 76)) (fill-region (point-min) (point-max)))
                   (string-trim (buffer-string))))
         (overlay (jumpseat--view-put-overlay at at 'message)))
    (overlay-put overlay 'after-string
                 (concat jumpseat--view-cursor (propertize (concat "\n" filled) 'face face)))
    overlay))

(defun jumpseat--view-show-error (position err)
  "Show ERR below the line at POSITION."
  (jumpseat--view-show-below position (concat "✗ " (jumpseat--format-error err)) 'jumpseat-error))

(defun jumpseat--view-clear (&optional kind)
  "Remove the overlays of KIND (by default `message'); leave others alone."
  (save-restriction
    (widen)
    (remove-overlays (point-min) (point-max) 'jumpseat-kind (or kind 'message))))

;;; Buttons

(defface jumpseat-button '((t :inherit link))
  "Buttons below calls that need an approval, and above rewrites."
  :group 'jumpseat)

(defun jumpseat--view-make-button (label command &optional hide-key)
  "Return a button with LABEL.
A click on the button moves point there and runs COMMAND.
LABEL is followed by the key of COMMAND, unless HIDE-KEY is non-nil."
  (let ((map (make-sparse-keymap))
        (key (substitute-command-keys (format "\\[%s]" command))))
    (define-key map [mouse-1]
      (lambda (event)
        (interactive "e")
        (posn-set-point (event-end event))
        (call-interactively command)))
    (propertize (if hide-key (format "[%s]" label) (format "[%s %s]" label key))
                'face 'jumpseat-button 'mouse-face 'highlight 'keymap map
                'help-echo (format "%s (%s)" (documentation command) key))))

;;; Folds

(defface jumpseat-thinking '((t :inherit (italic shadow)))
  "The thinking of models."
  :group 'jumpseat)

(defvar jumpseat-fold-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "RET") #'jumpseat-toggle-fold)
    (define-key map [mouse-1] #'jumpseat-toggle-fold)
    map)
  "Keymap on thinking and calls, whether they are folded or shown.")

(defun jumpseat--view-count-lines (beg end markup)
  "Describe the number of lines from BEG to END, without markup.
MARKUP is the number of lines that only contain markup."
  (let ((lines (max 1 (- (count-lines beg end) markup))))
    (format "%d line%s" lines (if (= lines 1) "" "s"))))

(defun jumpseat--view-fold-thinking (beg end)
  "Fold the thinking from BEG to END.
If END is at the start of a line, fold only the lines before it."
  (let ((end (save-excursion (goto-char end) (if (bolp) (1- (point)) (point)))))
    ;; The markup takes four lines: the two tags of `<details>', and a blank
    ;; line inside each.
    (jumpseat--view-fold beg end
                         (format "Thinking (%s)" (jumpseat--view-count-lines beg end 4))
                         'jumpseat-thinking)))

(defun jumpseat--view-fold (beg end title &optional face)
  "Fold the lines from BEG to END under TITLE, and return the overlay.
The title has FACE, and so have the lines when they are shown."
  (let ((overlay (jumpseat--view-put-overlay beg end 'fold)))
    (overlay-put overlay 'face face)
    (overlay-put overlay 'isearch-open-invisible #'jumpseat-view--open)
    (overlay-put overlay 'keymap jumpseat-fold-map)
    (overlay-put overlay 'jumpseat-title title)
    (jumpseat-view--close overlay)
    overlay))

(defun jumpseat--view-name-fold (overlay title)
  "Give the fold OVERLAY another TITLE."
  (overlay-put overlay 'jumpseat-title title)
  (when (overlay-get overlay 'display) (jumpseat-view--close overlay)))

(defun jumpseat-view--close (overlay)
  "Hide the text of OVERLAY."
  (let ((title (concat "▸ " (overlay-get overlay 'jumpseat-title))))
    (add-face-text-property 0 (length title) (or (overlay-get overlay 'face) 'jumpseat-note) t title)
    (overlay-put overlay 'display title)))

(defun jumpseat-view--open (overlay)
  "Show the text of OVERLAY."
  (overlay-put overlay 'display nil))

(defun jumpseat-view--find-folds (beg end)
  "Return the folds between BEG and END, in buffer order."
  (sort (seq-filter (lambda (each) (eq (overlay-get each 'jumpseat-kind) 'fold)) (overlays-in beg end))
        (lambda (a b) (< (overlay-start a) (overlay-start b)))))

(defun jumpseat-toggle-fold (&optional all)
  "Show or hide the thinking or the call at point, else the last one before it.
With a prefix argument ALL, show or hide all thinking and calls of the chat."
  (interactive "P")
  (let* ((folds (jumpseat-view--find-folds (point-min) (if all (point-max) (line-end-position))))
         (chosen (if all folds (last folds))))
    (unless chosen (user-error "There is no thinking or call here"))
    (let ((hidden (overlay-get (car chosen) 'display)))
      (mapc (if hidden #'jumpseat-view--open #'jumpseat-view--close) chosen))))

(provide 'jumpseat-view)
;;; jumpseat-view.el ends here
