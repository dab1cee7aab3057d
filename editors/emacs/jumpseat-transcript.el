;;; jumpseat-transcript.el --- The text of jumpseat chats  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Chats are texts that the daemon parses and renders (`transcript/parse',
;; `transcript/render').

;;; Code:

(require 'jumpseat-format)
(require 'jumpseat-rpc)

(defvar jumpseat-transcript--roles (list "Me" "Assistant")
  "The known names of roles in headings; a configuration may define others.")

(defun jumpseat--transcript-question (&optional format)
  "Return the heading of questions that is understood with every configuration.
FORMAT is the chat's format, by default the format of this buffer."
  (concat (jumpseat--format-sign (or format (jumpseat--format-here))) "Me"))

(defvar jumpseat-transcript--askers (list "Me")
  "The known names of the user's role in headings.")

(defun jumpseat--transcript-question-p (heading)
  "Whether HEADING of this buffer belongs to a question."
  (string-match-p (concat "\\`" (regexp-quote (jumpseat--format-sign (jumpseat--format-here)))
                          (regexp-opt jumpseat-transcript--askers) "\\(?:[ \t]\\|\\'\\)")
                  heading))

(defun jumpseat--transcript-heading-regexp (&optional heading)
  "Return a regular expression for a line with HEADING, or with a known heading."
  (let ((format (jumpseat--format-here)))
    (concat "^" (if heading (regexp-quote heading)
                  (concat (regexp-quote (jumpseat--format-sign format))
                          (regexp-opt jumpseat-transcript--roles)))
            (jumpseat--format-after-role format))))

(defun jumpseat--transcript-text ()
  "Return the text of this buffer, with a final line ending."
  (save-restriction
    (widen)
    (let ((text (buffer-substring-no-properties (point-min) (point-max))))
      (if (string-suffix-p "\n" text) text (concat text "\n")))))

(defun jumpseat--transcript-parse (text callback)
  "Parse TEXT; call CALLBACK with an error or nil, and the conversation."
  (jumpseat--rpc-request "transcript/parse"
                         (list :text text :format (jumpseat--format-name (jumpseat--format-here)))
                         callback))

(defun jumpseat--transcript-render (message model callback)
  "Render MESSAGE of a chat with MODEL.
Call CALLBACK with an error or nil, and the text without its last line
ending.  The texts of an answer are trimmed of blank lines."
  (let ((format (jumpseat--format-here)))
    (jumpseat--rpc-request
     "transcript/render" (list :messages (vector message) :model model :trimAnswers t
                               :format (jumpseat--format-name format))
     (lambda (err result)
       (funcall callback err
                ;; Remove the front matter, which names the model.
                (when result
                  (string-remove-suffix
                   "\n" (replace-regexp-in-string
                         (format "\\`%s\n\\(?:.*\n\\)*?%s\n+" (jumpseat--format-front format)
                                 (jumpseat--format-front-end format))
                         "" (plist-get result :text)))))))))

(defun jumpseat--transcript-fetch-headings (model callback &optional format)
  "Fetch the headings of both roles, which the configuration may rename.
MODEL is the chat's model, and FORMAT its format, by default the format of
this buffer.  Call CALLBACK with an error or nil, and a cons of the heading of
the user and the heading of the assistant."
  (let* ((format (or format (jumpseat--format-here)))
         (sign (jumpseat--format-sign format))
         (heading (concat (regexp-quote sign) "\\(.+\\)\n")))
    (jumpseat--rpc-request
     "transcript/render"
     (list :messages [(:role "user" :content "-") (:role "assistant" :content "-")] :model model
           :format (jumpseat--format-name format))
     (lambda (err result)
       (let ((text (plist-get result :text)))
         (funcall callback err
                  (when (and text (string-match (concat "^" heading "\\(?:.*\n\\)*?" heading) text))
                    (dolist (group '(1 2))
                      (cl-pushnew (match-string group text) jumpseat-transcript--roles
                                  :test #'equal))
                    (cl-pushnew (match-string 1 text) jumpseat-transcript--askers :test #'equal)
                    (cons (concat sign (match-string 1 text))
                          (concat sign (match-string 2 text))))))))))

(defun jumpseat-transcript--find-front-matter ()
  "Return the positions of the front matter in this buffer, as a cons.
Without any, both are the start of the buffer."
  (let ((format (jumpseat--format-here))
        (case-fold-search t))
    (save-excursion
      (save-restriction
        (widen)
        (let* ((begun (jumpseat--format-goto-front format))
               (start (point)))
          (forward-line)
          (if (and begun
                   (re-search-forward
                    (concat "^" (jumpseat--format-front-end format) "\\(?:\n\\|\\'\\)") nil t))
              (cons start (point))
            (cons (point-min) (point-min))))))))

(defun jumpseat--transcript-front-matter-end ()
  "Return the position after the front matter, or `point-min' without any."
  (cdr (jumpseat-transcript--find-front-matter)))

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
      (when (re-search-forward (format (jumpseat--format-value (jumpseat--format-here)) key)
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

(defun jumpseat--transcript-render-front-matter (conversation callback &optional format)
  "Render the front matter of CONVERSATION.
Call CALLBACK with an error or nil, and the text with a final line ending.
FORMAT is by default this buffer's."
  (jumpseat--rpc-request
   "transcript/render"
   (list :messages [] :model (plist-get conversation :model)
         :system (plist-get conversation :system)
         :daemonTools (let ((tools (plist-get conversation :daemonTools)))
                        (unless (seq-empty-p tools) tools))
         :settings (plist-get conversation :settings)
         :conversationId (plist-get conversation :conversationId)
         :format (jumpseat--format-name (or format (jumpseat--format-here))))
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
      (pcase-let ((`(,start . ,end) (jumpseat-transcript--find-front-matter)))
        (jumpseat--transcript-replace
         start end
         (cond ((> end start) (jumpseat-transcript--keep-others text start end))
               ((string-empty-p text) text)
               (t (concat text "\n"))))))))

(defun jumpseat-transcript--keep-others (text start end)
  "Return the front matter TEXT with the properties of other programs.
They are between START and END of this buffer: Org has one drawer for all."
  (let* ((format (jumpseat--format-here))
         (first (jumpseat--format-front format))
         (last (jumpseat--format-front-end format))
         (ours (concat "\\`[ \t]*\\(?:" first "\\|" last "\\|:" (regexp-opt jumpseat--format-keys)
                       ":.*\\|\\)[ \t]*\\'"))
         (case-fold-search t)
         (others (unless (string-empty-p (jumpseat--format-property format))
                   (seq-remove (lambda (line) (string-match-p ours line))
                               (split-string (buffer-substring start end) "\n")))))
    (if (null others) text
      (concat first "\n" (string-join others "\n") "\n"
              (if (string-empty-p text) (concat last "\n")
                (string-remove-prefix (concat first "\n") text))))))

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
        ;; An error in one function must not stop the others.
        (with-demoted-errors "jumpseat: Internal error: %S"
          (funcall (pop jumpseat-transcript--waiting)))))))

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
         (let ((sent nil))
           (unwind-protect
               (progn
                 (jumpseat--transcript-render-front-matter
                  (funcall changes conversation)
                  (lambda (err text)
                    (unwind-protect
                        (when (and (null err) (buffer-live-p buffer))
                          (with-current-buffer buffer
                            (jumpseat--transcript-put-front-matter text)
                            (when done (funcall done))))
                      (jumpseat-transcript--settle buffer err))))
                 (setq sent t))
             ;; After an error in CHANGES, the callback above is never called.
             (unless sent (jumpseat-transcript--settle buffer nil)))))))))

(defun jumpseat--transcript-update (changes &optional done)
  "Change the front matter of this buffer, and leave the rest unchanged.
CHANGES is called with the conversation and returns another one.  DONE is
called in the buffer after the change.  Errors are shown."
  (jumpseat--transcript-when-settled
   (lambda () (jumpseat-transcript--start-update changes done))))

(provide 'jumpseat-transcript)
;;; jumpseat-transcript.el ends here
