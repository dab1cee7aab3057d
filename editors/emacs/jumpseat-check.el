;;; jumpseat-check.el --- Diagnostics of chats  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A Flymake backend: the daemon checks the text of a chat as a turn would.

;;; Code:

(require 'flymake)
(require 'jumpseat-region)
(require 'jumpseat-transcript)

(defun jumpseat-check--to-diagnostic (diagnostic)
  "Convert DIAGNOSTIC from the daemon to a Flymake diagnostic for this buffer."
  (let* ((range (plist-get diagnostic :range))
         (beg (jumpseat--region-find (plist-get range :start)))
         (end (jumpseat--region-find (plist-get range :end))))
    (flymake-make-diagnostic
     (current-buffer) beg (if (> end beg) end (min (1+ beg) (point-max)))
     (if (eql 1 (plist-get diagnostic :severity)) :error :warning)
     (plist-get diagnostic :message))))

(defun jumpseat-check--build-text ()
  "Return the text of this chat to check, or nil if there is nothing to check.
Usually, this is the front matter with a short question, because the rest may be
long.  In a branch, or if the front matter is not terminated, it is the whole
text."
  (save-restriction
    (widen)
    (let ((end (jumpseat--transcript-front-matter-end)))
      (cond ((jumpseat--transcript-in-branch-p) (jumpseat--transcript-text))
            ((> end (point-min))
             (concat (jumpseat--transcript-front-matter-text) "\n" (jumpseat--transcript-question)
                     "\n\n-\n"))
            ((save-excursion (jumpseat--format-goto-front (jumpseat--format-here)))
             (jumpseat--transcript-text))))))

(defun jumpseat--check-flymake (report &rest _)
  "Have the daemon check this chat, and REPORT its diagnostics."
  (let ((buffer (current-buffer))
        (text (jumpseat-check--build-text)))
    (if (null text)
        (funcall report nil)
      (jumpseat--rpc-request
       "transcript/check"
       (list :text text :format (jumpseat--format-name (jumpseat--format-here))
             :line (jumpseat--outline-line (point)))
       (lambda (err result)
         (when (buffer-live-p buffer)
           (with-current-buffer buffer
             ;; Flymake signals an error for a report of an outdated check.
             (condition-case nil
                 (funcall report (unless err
                                   (mapcar #'jumpseat-check--to-diagnostic
                                           (plist-get result :diagnostics))))
               (error nil)))))))))

(defun jumpseat-check--recheck (_params)
  "Check the chats again after the lists of models have changed."
  (dolist (buffer (jumpseat--chat-list))
    (with-current-buffer buffer
      (when flymake-mode (flymake-start)))))

(jumpseat--inbox-on 'models/didChange #'jumpseat-check--recheck)

(provide 'jumpseat-check)
;;; jumpseat-check.el ends here
