;;; jumpseat-transcript.el --- The text of jumpseat chats  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Chats are texts that the daemon parses and renders (`transcript/parse',
;; `transcript/render').

;;; Code:

(require 'jumpseat-rpc)

(defconst jumpseat--transcript-question "## Me"
  "The heading of questions that is understood with every configuration.")

(defvar jumpseat-transcript--headings (list jumpseat--transcript-question "## Assistant")
  "The known headings; a configuration may define others.")

(defun jumpseat--transcript-heading-regexp ()
  "Return a regular expression that matches a line with a known heading."
  (concat "^" (regexp-opt jumpseat-transcript--headings) "[ \t]*$"))

(defun jumpseat--transcript-text ()
  "Return the text of this buffer, with a line end at its end."
  (save-restriction
    (widen)
    (let ((text (buffer-substring-no-properties (point-min) (point-max))))
      (if (string-suffix-p "\n" text) text (concat text "\n")))))

(defun jumpseat--transcript-parse (text callback)
  "Parse TEXT; call CALLBACK with an error or nil, and the conversation."
  (jumpseat--rpc-request "transcript/parse" (list :text text) callback))

(defun jumpseat--transcript-render (message model callback)
  "Render MESSAGE of a chat with MODEL.
Call CALLBACK with an error or nil, and the text without its last line end.  The
texts of an answer are trimmed of blank lines."
  (jumpseat--rpc-request
   "transcript/render" (list :messages (vector message) :model model :trimAnswers t)
   (lambda (err result)
     (funcall callback err
              ;; Remove the front matter, which names the model.
              (when result
                (string-remove-suffix
                 "\n" (replace-regexp-in-string "\\`---\n\\(?:.*\n\\)*?---\n+" ""
                                                (plist-get result :text))))))))

(defun jumpseat--transcript-fetch-headings (model callback)
  "Fetch the headings of both roles, which the configuration may rename.
MODEL is the chat's model.  Call CALLBACK with an error or nil, and a cons of
the user's and the assistant's heading."
  (jumpseat--rpc-request
   "transcript/render"
   (list :messages [(:role "user" :content "-") (:role "assistant" :content "-")] :model model)
   (lambda (err result)
     (let ((text (plist-get result :text)))
       (funcall callback err
                (when (and text (string-match "\\(^## .+\\)\n\\(?:.*\n\\)*?\\(## .+\\)\n" text))
                  (dolist (group '(1 2))
                    (cl-pushnew (match-string group text) jumpseat-transcript--headings
                                :test #'equal))
                  (cons (match-string 1 text) (match-string 2 text))))))))

(defun jumpseat--transcript-front-matter-end ()
  "Return the position after the front matter, or `point-min' without any."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (point-min))
      (if (and (looking-at "---\n") (re-search-forward "^---\\(?:\n\\|\\'\\)" nil t 2))
          (point)
        (point-min)))))

(defun jumpseat--transcript-front-matter-text ()
  "Return the text of the front matter of this buffer."
  (save-restriction
    (widen)
    (buffer-substring-no-properties (point-min) (jumpseat--transcript-front-matter-end))))

(defun jumpseat--transcript-value (key)
  "Return the text of KEY in the front matter of this buffer, or nil."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (point-min))
      (when (re-search-forward (concat "^[ \t]*" key ":[ \t]*[\"']?\\(.*?\\)[\"']?[ \t]*$")
                               (jumpseat--transcript-front-matter-end) t)
        (match-string-no-properties 1)))))

(defun jumpseat--transcript-model ()
  "Return the model in the front matter of this buffer, or nil."
  (jumpseat--transcript-value "model"))

(defun jumpseat--transcript-conversation ()
  "Return the id of the kept conversation that this buffer continues, or nil."
  (jumpseat--transcript-value "conversation"))

(defun jumpseat--transcript-find-last (conversation)
  "Return the last message of CONVERSATION, or nil."
  (car (last (jumpseat--list (plist-get conversation :messages)))))

(defun jumpseat--transcript-render-front-matter (conversation callback)
  "Render the front matter of CONVERSATION.
Call CALLBACK with an error or nil, and the text with a line end at its end."
  (jumpseat--rpc-request
   "transcript/render"
   (list :messages [] :model (plist-get conversation :model)
         :system (plist-get conversation :system)
         :daemonTools (let ((tools (plist-get conversation :daemonTools)))
                        (unless (seq-empty-p tools) tools))
         :settings (plist-get conversation :settings)
         :conversationId (plist-get conversation :conversationId))
   (lambda (err result)
     (funcall callback err
              (when result
                (let ((text (string-trim (plist-get result :text))))
                  (if (string-empty-p text) "" (concat text "\n"))))))))

(defun jumpseat--transcript-put-front-matter (text)
  "Replace the front matter of this buffer with TEXT."
  (save-excursion
    (save-restriction
      (widen)
      (let ((end (jumpseat--transcript-front-matter-end)))
        (jumpseat--transcript-replace
         (point-min) end
         (if (or (> end (point-min)) (string-empty-p text)) text (concat text "\n")))))))

(defun jumpseat--transcript-replace (beg end text)
  "Replace the text from BEG to END of this buffer with TEXT.
Change only what differs, so that point and markers stay."
  (save-restriction
    (widen)
    (narrow-to-region beg end)
    (replace-region-contents (point-min) (point-max) (lambda () text) 0.1)))

(defun jumpseat--transcript-drop-empty-question ()
  "Remove the heading at the end of this buffer, if nothing follows it.
Return the position after the text before it."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (point-max))
      (skip-chars-backward " \t\n")
      (when (save-excursion
              (beginning-of-line)
              (looking-at (jumpseat--transcript-heading-regexp)))
        (delete-region (line-beginning-position) (point))
        (skip-chars-backward " \t\n"))
      (delete-region (point) (point-max))
      (point))))

(defun jumpseat--transcript-line (line)
  "Return the start of LINE of this buffer, counted from 0."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (point-min))
      (forward-line line)
      (point))))

(defvar-local jumpseat-transcript--updating nil
  "Whether the front matter of this buffer is being changed.")
(defvar-local jumpseat-transcript--waiting nil
  "Functions to call when the front matter of this buffer was changed, in order.")

(defun jumpseat--transcript-when-settled (function)
  "Call FUNCTION in this buffer once its front matter is not being changed.
A change takes two requests, and a question that is sent meanwhile, or another
change, must not miss it."
  (if jumpseat-transcript--updating
      (setq jumpseat-transcript--waiting (append jumpseat-transcript--waiting (list function)))
    (funcall function)))

(defun jumpseat-transcript--settle (buffer err)
  "End the change of the front matter of BUFFER, and show ERR if it failed."
  (when err (jumpseat--say-error err))
  (when (buffer-live-p buffer)
    (with-current-buffer buffer
      (setq jumpseat-transcript--updating nil)
      (while (and jumpseat-transcript--waiting (not jumpseat-transcript--updating))
        (funcall (pop jumpseat-transcript--waiting))))))

(defun jumpseat-transcript--start-update (changes done)
  "Change the front matter of this buffer, then call DONE.
The argument CHANGES is a function.
See `jumpseat--transcript-update'."
  (let ((buffer (current-buffer)))
    (setq jumpseat-transcript--updating t)
    (jumpseat--transcript-parse
     (jumpseat--transcript-text)
     (lambda (failure conversation)
       (if failure (jumpseat-transcript--settle buffer failure)
         (jumpseat--transcript-render-front-matter
          (funcall changes conversation)
          (lambda (err text)
            (unwind-protect
                (when (and (null err) (buffer-live-p buffer))
                  (with-current-buffer buffer
                    (jumpseat--transcript-put-front-matter text)
                    (when done (funcall done))))
              (jumpseat-transcript--settle buffer err)))))))))

(defun jumpseat--transcript-update (changes &optional done)
  "Change the front matter of this buffer, and leave the rest unchanged.
CHANGES is called with the conversation and returns another one.  DONE is
called in the buffer after the change.  Errors are shown."
  (jumpseat--transcript-when-settled
   (lambda () (jumpseat-transcript--start-update changes done))))

(provide 'jumpseat-transcript)
;;; jumpseat-transcript.el ends here
