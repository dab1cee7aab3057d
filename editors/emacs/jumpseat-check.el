;;; jumpseat-check.el --- Diagnostics of chats  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A backend of Flymake: the daemon checks the text of a chat as a turn would.

;;; Code:

(require 'flymake)
(require 'jumpseat-transcript)

(defun jumpseat-check--position (position)
  "The position in this buffer of POSITION as LSP counts."
  (save-excursion
    (goto-char (jumpseat-transcript-line (plist-get position :line)))
    (let ((units (plist-get position :character)))
      (while (and (> units 0) (not (eolp)))
        (setq units (- units (if (> (char-after) #xFFFF) 2 1)))
        (forward-char))
      (point))))

(defun jumpseat-check--diagnostic (diagnostic)
  "DIAGNOSTIC of the daemon as one of Flymake for this buffer."
  (let* ((range (plist-get diagnostic :range))
         (beg (jumpseat-check--position (plist-get range :start)))
         (end (jumpseat-check--position (plist-get range :end))))
    (flymake-make-diagnostic
     (current-buffer) beg (if (> end beg) end (min (1+ beg) (point-max)))
     (if (eql 1 (plist-get diagnostic :severity)) :error :warning)
     (plist-get diagnostic :message))))

(defun jumpseat-check-flymake (report &rest _)
  "Have the daemon check this chat, and REPORT what it finds.
Only the text above the first heading is sent: all else is text."
  (let* ((buffer (current-buffer))
         (end (jumpseat-transcript-front-matter-end))
         (text (save-restriction
                 (widen)
                 (buffer-substring-no-properties (point-min) end))))
    (if (or (string-empty-p text)
            (and (jumpseat-rpc-info) (not (jumpseat-rpc-has-p "transcript/check"))))
        (funcall report nil)
      (jumpseat-rpc-request
       "transcript/check" (list :text text)
       (lambda (err result)
         (when (buffer-live-p buffer)
           (with-current-buffer buffer
             (save-restriction
               (widen)
               ;; A later check has reported since, or will.
               (condition-case nil
                   (funcall report
                            (unless err
                              (mapcar #'jumpseat-check--diagnostic
                                      (plist-get result :diagnostics))))
                 (error nil))))))))))

(provide 'jumpseat-check)
;;; jumpseat-check.el ends here
