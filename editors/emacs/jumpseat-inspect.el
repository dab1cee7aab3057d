;;; jumpseat-inspect.el --- Show what would be sent  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A dry run: shows the request that `jumpseat-send' would send to the daemon,
;; with its references, prompts and context, and counts its tokens.

;;; Code:

(require 'json)
(require 'jumpseat-anywhere)

(defconst jumpseat-inspect--buffer "*jumpseat dry run*" "The buffer that shows the request.")

(defun jumpseat-inspect--drop-empty (params)
  "Return PARAMS without the keys that have no value."
  (let (kept)
    (while params
      (let ((key (pop params)) (value (pop params)))
        (when value (setq kept (append kept (list key value))))))
    kept))

(defun jumpseat-inspect--show (params)
  "Show PARAMS of `chat/start', and request their number of tokens."
  (with-current-buffer (get-buffer-create jumpseat-inspect--buffer)
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert (json-serialize params :null-object nil :false-object :json-false))
      (json-pretty-print-buffer)
      (js-mode)
      (setq buffer-read-only t
            header-line-format " This would be sent; counting tokens …")
      (use-local-map (make-composed-keymap special-mode-map (current-local-map)))
      (goto-char (point-min)))
    (pop-to-buffer (current-buffer)))
  (jumpseat--rpc-request
   "chat/countTokens" params
   (lambda (err result)
     (when-let ((buffer (get-buffer jumpseat-inspect--buffer)))
       (with-current-buffer buffer
         (setq header-line-format
               (replace-regexp-in-string
                "%" "%%"
                (if err (concat " This would be sent. " (jumpseat--format-error err))
                  (format " This would be sent: %s%d tokens; q closes"
                          (if (equal "estimate" (plist-get result :method)) "about " "")
                          (plist-get result :tokens)))))
         (force-mode-line-update))))))

(defun jumpseat-inspect--end (copy params)
  "Show PARAMS, and kill COPY."
  (kill-buffer copy)
  (jumpseat-inspect--show (jumpseat-inspect--drop-empty params)))

(defun jumpseat-inspect--prepare (copy)
  "Prepare the question of the chat in COPY, and show the request."
  (let ((step (lambda (next)
                (lambda (err result)
                  (when (buffer-live-p copy)
                    (with-current-buffer copy
                      (if (null err) (funcall next result)
                        (kill-buffer copy)
                        (jumpseat--say-error err))))))))
    (jumpseat--transcript-parse-here
     (funcall step
              (lambda (conversation)
                (if (not (equal "user" (plist-get (jumpseat--transcript-find-last conversation)
                                                  :role)))
                    (jumpseat-inspect--end copy (jumpseat--send-make-params conversation))
                  (jumpseat--references-expand
                   conversation (jumpseat--send-find-section conversation) step
                   (lambda (expanded)
                     (jumpseat-inspect--end copy (jumpseat--send-make-params expanded))))))))))

(defun jumpseat-inspect--copy-chat ()
  "Return a hidden copy of this chat, in which its question can be prepared."
  (let ((text (jumpseat--transcript-text))
        (at (point))
        (directory default-directory)
        (mode major-mode)
        (items jumpseat--context-items))
    (with-current-buffer (generate-new-buffer " *jumpseat dry run*")
      (setq default-directory directory
            ;; The format of the text depends on the value of `major-mode'.  Set
            ;; only the value, without running the mode.
            major-mode mode
            jumpseat--context-items items)
      (insert text)
      (goto-char at)
      (current-buffer))))

(defun jumpseat-dry-run ()
  "Show what `jumpseat-send' would send from this buffer, without sending it.
This is the request to the daemon, which translates it for the provider.
In a chat, references, prompts and the context are expanded in the request, but
the text of the chat does not change."
  (interactive)
  (if jumpseat-chat-mode
      (with-current-buffer (jumpseat-inspect--copy-chat)
        (jumpseat-inspect--prepare (current-buffer)))
    (jumpseat-inspect--show
     (jumpseat-inspect--drop-empty
      (list :messages (vector (list :role "user" :content (car (jumpseat--anywhere-find-text))))
            :model jumpseat-model :keep (if jumpseat-keep t :json-false))))))

(provide 'jumpseat-inspect)
;;; jumpseat-inspect.el ends here
