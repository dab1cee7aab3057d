;;; jumpseat-ready.el --- Ready-made commands for frequent questions  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Commands that use the daemon's prompts for the region or the function at
;; point, write commit messages, and open the chat of a project.

;;; Code:

(require 'thingatpt)
(require 'jumpseat-anywhere)

;;; Prompts

(defun jumpseat-ready--find-bounds ()
  "Return the bounds of the region, or else of the function, or else of the buffer."
  (or (jumpseat--region-active)
      (when-let ((bounds (and (derived-mode-p 'prog-mode) (bounds-of-thing-at-point 'defun))))
        (list (car bounds) (cdr bounds)))
      (list (point-min) (point-max))))

(defun jumpseat-ready--ask (name)
  "Use the prompt NAME in the last chat, for the region, function or buffer."
  (apply #'jumpseat-ask (concat "/" name) (jumpseat-ready--find-bounds)))

(defun jumpseat-explain ()
  "Let the model explain the region, or else the function or the buffer."
  (interactive)
  (jumpseat-ready--ask "explain"))

(defun jumpseat-review ()
  "Let the model review the region, or else the function or the buffer."
  (interactive)
  (jumpseat-ready--ask "review"))

(defun jumpseat-fix ()
  "Let the model fix the region, or else the function or the buffer."
  (interactive)
  (jumpseat-ready--ask "fix"))

(defun jumpseat-document ()
  "Let the model document the region, or else the function or the buffer."
  (interactive)
  (jumpseat-ready--ask "docs"))

(defun jumpseat-write-tests ()
  "Let the model write a test for the region, or else the function or the buffer."
  (interactive)
  (jumpseat-ready--ask "tests"))

(defun jumpseat-prompt ()
  "Choose a prompt, and use it for the region, or else the function or the buffer."
  (interactive)
  (let ((buffer (current-buffer)))
    (jumpseat--models-get
     "prompts/list"
     (jumpseat--make-callback
      (lambda (result)
        (jumpseat--ui-choose
         "Prompt"
         (mapcar (lambda (each) (list (plist-get each :name) (plist-get each :name)
                                      (plist-get each :description)))
                 (plist-get result :prompts))
         'jumpseat-prompt
         (lambda (name)
           (when (buffer-live-p buffer)
             (with-current-buffer buffer (jumpseat-ready--ask name))))))))))

;;; Commit messages

(defun jumpseat-ready--run-git (&rest arguments)
  "Return the output of git with ARGUMENTS, or signal a `user-error'."
  (with-temp-buffer
    (unless (eql 0 (apply #'process-file "git" nil t nil arguments))
      (user-error "Git failed: %s" (string-trim (buffer-string))))
    (buffer-string)))

(defun jumpseat-ready--read-changes ()
  "Return the staged diff, or else the diff since the last commit."
  (let* ((default-directory (or (locate-dominating-file default-directory ".git")
                                (user-error "This directory is not in a Git repository")))
         (staged (jumpseat-ready--run-git "diff" "--cached" "--no-color" "--no-ext-diff"))
         (changes (if (string-empty-p staged)
                      (jumpseat-ready--run-git "diff" "HEAD" "--no-color" "--no-ext-diff")
                    staged)))
    (when (string-empty-p changes) (user-error "There are no changes to describe"))
    changes))

(defun jumpseat-ready--message-buffer-p ()
  "Whether this is a buffer for writing a commit message."
  (or (bound-and-true-p git-commit-mode)
      (derived-mode-p 'log-edit-mode)
      (equal "COMMIT_EDITMSG" (and buffer-file-name (file-name-nondirectory buffer-file-name)))))

(defun jumpseat-commit-message ()
  "Write a commit message for the staged diff, or the diff since the last commit.
In a buffer for a commit message, such as Magit's, insert the message at the
beginning, in one step of undo.  Elsewhere, put it into the kill ring.  If the
diff is too long for the model, leave out the longest files."
  (interactive)
  (let ((changes (jumpseat-ready--read-changes))
        (buffer (current-buffer))
        (here (jumpseat-ready--message-buffer-p)))
    (jumpseat--references-get-prompt
     "commit" changes (list :defaultModel jumpseat-model)
     (jumpseat--make-callback
      (lambda (prompt)
        (when (buffer-live-p buffer)
          (with-current-buffer buffer
            (jumpseat--anywhere-request
             (plist-get prompt :text)
             (if here 'start 'kill-ring) (point-min)
             :model (plist-get prompt :model) :system (plist-get prompt :system)
             :settings (plist-get prompt :settings)))))))))

;;; Projects

(defun jumpseat-project ()
  "Open the last chat of this project, or else a new one.
The tools of the chat use the project's files."
  (interactive)
  (let* ((root (expand-file-name (project-root (project-current t))))
         (name (file-name-nondirectory (directory-file-name root)))
         (chat (seq-find (lambda (each)
                           (file-equal-p root (buffer-local-value 'default-directory each)))
                         (jumpseat--chat-list))))
    (if chat (jumpseat--chat-show chat)
      (let ((default-directory root))
        (jumpseat-new))
      (rename-buffer (format "*jumpseat: %s*" name) t))))

(provide 'jumpseat-ready)
;;; jumpseat-ready.el ends here
