;;; jumpseat-outline.el --- Branches of chats in Org  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A chat in Org may have branches, which belong to headlines.  The daemon finds
;; the branch of a line; this file finds the place of that branch in the buffer.

;;; Code:

(require 'cl-lib)
(require 'jumpseat-format)

(cl-defstruct (jumpseat--branch (:constructor jumpseat-outline--make-branch) (:copier nil))
  start                      ; a marker at the branch's headline
  end                        ; a marker at the end of everything in the branch
  level                      ; the level of the headings of its messages
  own)                       ; the values of its own property drawer

(defun jumpseat--outline-make-branch (result)
  "Return the branch of this buffer that RESULT of `transcript/parse' describes.
Return nil if RESULT does not contain a branch."
  (when-let ((branch (plist-get result :branch)))
    (jumpseat-outline--make-branch
     :start (copy-marker (jumpseat--outline-find-line (plist-get branch :startLine)))
     ;; The end must move when the answer is written there.
     :end (copy-marker (jumpseat--outline-find-line (plist-get branch :endLine)) t)
     :level (plist-get branch :level)
     :own branch)))

(defun jumpseat--outline-find-line (line)
  "Return the start of LINE of this buffer, counted from 0."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (point-min))
      (forward-line line)
      (point))))

(defun jumpseat--outline-point ()
  "Return a marker at the user's point in this buffer.
The buffer may be in a window that is not selected."
  (let ((window (get-buffer-window nil t)))
    (copy-marker (if (or (null window) (eq (selected-window) window)) (point)
                   (window-point window)))))

(defun jumpseat--outline-line (position)
  "Return the line of POSITION in this buffer, counted from 0."
  (1- (line-number-at-pos position t)))

(defun jumpseat--outline-end (branch)
  "Return the end of BRANCH, or of this widened buffer if BRANCH is nil."
  (if branch (marker-position (jumpseat--branch-end branch)) (point-max)))

(defun jumpseat--outline-goto-end (branch)
  "Go to the last line of BRANCH, or to the end of this buffer if BRANCH is nil."
  (goto-char (jumpseat--outline-end branch))
  ;; Stay above the next headline, which begins at the end of the branch.
  (when (and branch (not (eobp))) (backward-char)))

(defun jumpseat--outline-clear (beg branch)
  "Delete the text from BEG to the end of BRANCH, and go to BEG.
Keep the newline before a headline that follows."
  (goto-char beg)
  (let ((end (jumpseat--outline-end branch)))
    (delete-region beg (if (< end (point-max)) (max beg (1- end)) end))))

(defun jumpseat--outline-list-headlines ()
  "Return the positions of the headlines that enclose point, the innermost first."
  (let (found)
    (when (derived-mode-p 'org-mode)
      (save-excursion
        (save-restriction
          (widen)
          (end-of-line)
          (let ((level nil))
            (while (and (not (eql level 1)) (re-search-backward "^\\(\\*+\\)[ \t]" nil t))
              (let ((stars (- (match-end 1) (match-beginning 1))))
                (when (or (null level) (< stars level))
                  (setq level stars)
                  (push (point) found))))))))
    (nreverse found)))

(defun jumpseat--outline-find-end (headline)
  "Return the position after everything that HEADLINE encloses."
  (save-excursion
    (goto-char headline)
    (skip-chars-forward "*")
    (if (re-search-forward (format "^\\*\\{1,%d\\}[ \t]" (- (point) headline)) nil t)
        (match-beginning 0)
      (point-max))))

(defun jumpseat--outline-find-drawer (headline)
  "Return the bounds of the property drawer below HEADLINE, as a cons.
If there is no drawer, both are the position where one belongs."
  (let ((case-fold-search t))
    (save-excursion
      (goto-char headline)
      (forward-line)
      (when (looking-at-p "[ \t]*\\(?:CLOSED\\|DEADLINE\\|SCHEDULED\\):[ \t]") (forward-line))
      (let ((start (point)))
        (cons start
              (if (and (looking-at-p "[ \t]*:PROPERTIES:[ \t]*$")
                       (re-search-forward "^[ \t]*:END:[ \t]*\\(?:\n\\|\\'\\)\\|^\\*+[ \t]" nil t)
                       (not (eq (char-after (match-beginning 0)) ?*)))
                  (point)
                start))))))

(provide 'jumpseat-outline)
;;; jumpseat-outline.el ends here
