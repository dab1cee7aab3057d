;;; jumpseat-branch.el --- Start branches of chats  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The command that starts a branch of a chat in Org.

;;; Code:

(require 'jumpseat-chat)

(defun jumpseat-branch--find-answer ()
  "Return the position of the heading of the answer at or before point.
Signal a `user-error' if there is none."
  (save-excursion
    (end-of-line)
    (let ((level most-positive-fixnum) found)
      (while (and (not found) (re-search-backward "^\\(\\*+\\)[ \t].*" nil t))
        (let ((stars (- (match-end 1) (match-beginning 1)))
              (heading (match-string 0)))
          ;; Deeper headlines are in branches that have ended.
          (when (<= stars level)
            (setq level stars)
            (when (and (looking-at-p (jumpseat--transcript-heading-regexp))
                       (not (jumpseat--transcript-question-p heading)))
              (setq found (point))))))
      (or found (user-error "There is no answer at point: a branch continues an answer")))))

(defun jumpseat-branch (title)
  "Start a branch with TITLE after the answer at point, in a chat in Org.
The branch continues the conversation from there in another way.  Write a
question in the branch, and send it as usual: `jumpseat-send' sends the branch
that contains point."
  (interactive
   (progn
     (unless (and jumpseat-chat-mode (derived-mode-p 'org-mode))
       (user-error "Only chats in Org have branches: `jumpseat-new' with a prefix argument opens one"))
     (barf-if-buffer-read-only)
     (jumpseat-branch--find-answer)
     (list (read-string "Title of the branch: "))))
  (widen)
  (let* ((answer (jumpseat-branch--find-answer))
         (level (save-excursion (goto-char answer) (skip-chars-forward "*"))))
    (when (jumpseat--send-answering-p answer)
      (user-error "This answer is being written; %s stops it"
                  (substitute-command-keys "\\[jumpseat-stop]")))
    (goto-char (jumpseat--outline-find-end answer))
    (unless (bolp) (insert "\n"))
    (unless (looking-back "\n\n" (max (point-min) (- (point) 2))) (insert "\n"))
    (insert (make-string (1+ level) ?*) " " (if (string-empty-p title) "Branch" title) "\n\n"
            (jumpseat--transcript-question nil (+ 2 level)) "\n\n")
    (unless (eobp) (save-excursion (insert "\n")))))

(provide 'jumpseat-branch)
;;; jumpseat-branch.el ends here
