;;; jumpseat-transcript.el --- The text of jumpseat chats  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Chats are texts that the daemon parses and renders (`transcript/parse',
;; `transcript/render').

;;; Code:

(require 'jumpseat-outline)
(require 'jumpseat-rpc)

(defvar jumpseat-transcript--roles (list "Me" "Assistant")
  "The known names of roles in headings; a configuration may define others.")

(defun jumpseat--transcript-question (&optional format level)
  "Return the question heading that the daemon accepts with every configuration.
FORMAT is the chat's format, by default the format of this buffer, and LEVEL the
level of the heading, by default 1."
  (concat (jumpseat--format-sign-at (or format (jumpseat--format-here)) level) "Me"))

(defvar jumpseat-transcript--askers (list "Me")
  "The known names of the user's role in headings.")

(defun jumpseat--transcript-question-p (heading)
  "Whether HEADING of this buffer belongs to a question."
  (string-match-p (concat "\\`" (jumpseat--format-sign-regexp (jumpseat--format-here))
                          (regexp-opt jumpseat-transcript--askers) "\\(?:[ \t]\\|\\'\\)")
                  heading))

(defun jumpseat--transcript-heading-regexp (&optional heading)
  "Return a regular expression for a line with HEADING.
If HEADING is nil, the line may have any known heading."
  (let ((format (jumpseat--format-here)))
    (concat "^" (if heading (regexp-quote heading)
                  (concat (jumpseat--format-sign-regexp format)
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

(defun jumpseat--transcript-parse-here (callback &optional place)
  "Parse the conversation at PLACE of this buffer, by default at point.
CALLBACK is as for `jumpseat--transcript-parse'.  In the conversation, :branch
is its `jumpseat--branch', or nil, and :place a marker at PLACE."
  (let ((buffer (current-buffer))
        (place (or place (jumpseat--outline-point))))
    (jumpseat--rpc-request
     "transcript/parse"
     (list :text (jumpseat--transcript-text) :format (jumpseat--format-name (jumpseat--format-here))
           :line (jumpseat--outline-line place))
     (lambda (err result)
       (funcall callback err
                (if (and result (buffer-live-p buffer))
                    (with-current-buffer buffer
                      (append (list :branch (jumpseat--outline-make-branch result) :place place)
                              result))
                  result))))))

(defun jumpseat--transcript-level (conversation)
  "Return the level of the headings in CONVERSATION."
  (if-let ((branch (plist-get conversation :branch))) (jumpseat--branch-level branch) 1))

(defun jumpseat--transcript-render (message conversation callback)
  "Render MESSAGE for the model and the branch of CONVERSATION.
Call CALLBACK with an error or nil, and the text without its last line
ending.  In an answer, blank lines around each block of text are removed."
  (let ((format (jumpseat--format-here)))
    (jumpseat--rpc-request
     "transcript/render" (list :messages (vector message) :model (plist-get conversation :model)
                               :trimAnswers t :format (jumpseat--format-name format)
                               :level (jumpseat--transcript-level conversation))
     (lambda (err result)
       (funcall callback err
                ;; Remove the front matter, which names the model.
                (when result
                  (string-remove-suffix
                   "\n" (replace-regexp-in-string
                         (format "\\`%s\n\\(?:.*\n\\)*?%s\n+" (jumpseat--format-front format)
                                 (jumpseat--format-front-end format))
                         "" (plist-get result :text)))))))))

(defun jumpseat--transcript-fetch-headings (model callback &optional format level)
  "Fetch the headings of questions and answers, which a configuration may rename.
Add the names of their roles to the known names.  MODEL is the chat's model, and
FORMAT its format, by default the format of this buffer.  LEVEL is the level of
the headings, by default 1.  Call CALLBACK with an error or nil, and a cons of
the heading of the user and the heading of the assistant."
  (let* ((format (or format (jumpseat--format-here)))
         (sign (jumpseat--format-sign-at format level))
         (heading (concat (regexp-quote sign) "\\(.+\\)\n")))
    (jumpseat--rpc-request
     "transcript/render"
     (list :messages [(:role "user" :content "-") (:role "assistant" :content "-")] :model model
           :format (jumpseat--format-name format) :level (or level 1))
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

(defun jumpseat-transcript--find-front-matter (&optional branch)
  "Return the start and end of the front matter in this buffer, as a cons.
Without front matter, both are the start of the buffer.  With BRANCH, return the
start and end of its property drawer; without a drawer, both are the position
where a drawer belongs."
  (if branch (jumpseat--outline-find-drawer (jumpseat--branch-start branch))
    (jumpseat-transcript--find-head)))

(defun jumpseat-transcript--find-head ()
  "Return the start and end of the front matter of the chat, as a cons."
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

(defun jumpseat--transcript-front-matter-end (&optional branch)
  "Return the position after the front matter of this buffer, or of BRANCH.
Without front matter, this is the position where front matter belongs."
  (cdr (jumpseat-transcript--find-front-matter branch)))

(defun jumpseat--transcript-front-matter-text (&optional branch)
  "Return the text from the start of this buffer to the end of its front matter.
With BRANCH, return the text from its headline to the end of its drawer."
  (save-restriction
    (widen)
    (buffer-substring-no-properties
     (if branch (jumpseat--branch-start branch) (point-min))
     (jumpseat--transcript-front-matter-end branch))))

(defun jumpseat-transcript--find-value (key beg end)
  "Return the text of KEY in the front matter between BEG and END, or nil."
  (goto-char beg)
  (when (re-search-forward (format (jumpseat--format-value (jumpseat--format-here)) key) end t)
    (match-string-no-properties 1)))

(defun jumpseat-transcript--list-branches ()
  "Return the headlines of the branches that enclose point, the innermost first."
  (let ((headlines (jumpseat--outline-list-headlines)))
    ;; The innermost headline may belong to a message instead of a branch.
    (if (and headlines
             (save-excursion
               (goto-char (car headlines))
               (looking-at-p (jumpseat--transcript-heading-regexp))))
        (cdr headlines)
      headlines)))

(defun jumpseat--transcript-in-branch-p ()
  "Whether point is in a branch of this chat."
  (save-restriction
    (widen)
    (and (jumpseat-transcript--list-branches) t)))

(defun jumpseat--transcript-value (key)
  "Return the text of KEY at point, or nil.
The properties of branches around point override the front matter of the chat."
  (let ((headlines (jumpseat-transcript--list-branches)))
    (save-excursion
      (save-restriction
        (widen)
        (or (seq-some (lambda (headline)
                        (pcase-let ((`(,beg . ,end) (jumpseat--outline-find-drawer headline)))
                          (jumpseat-transcript--find-value key beg end)))
                      headlines)
            (jumpseat-transcript--find-value key (point-min)
                                             (jumpseat--transcript-front-matter-end)))))))

(defun jumpseat--transcript-model ()
  "Return the model at point, or nil; see `jumpseat--transcript-value'."
  (jumpseat--transcript-value "model"))

(defun jumpseat--transcript-branched-p ()
  "Whether this chat has messages in branches."
  (let ((level-sign (jumpseat--format-level-sign (jumpseat--format-here))))
    (unless (string-empty-p level-sign)
      (save-excursion
        (save-restriction
          (widen)
          (goto-char (point-min))
          (re-search-forward
           (concat "^" (regexp-quote level-sign)
                   (substring (jumpseat--transcript-heading-regexp) 1))
           nil t))))))

(defun jumpseat--transcript-find-last (conversation)
  "Return the last message of CONVERSATION, or nil."
  (car (last (jumpseat--list (plist-get conversation :messages)))))

(defconst jumpseat-transcript--empty-values
  '((:daemonTools . ":tools: []\n") (:settings . ":settings: {}\n") (:system . ":system: \"\"\n"))
  "The lines in the drawer of a branch that set a value to empty, by key.")

(defun jumpseat--transcript-list-own (conversation changed)
  "Return the values for the front matter of CONVERSATION after a change.
CHANGED is CONVERSATION with the changed values.  For a branch, leave out the
unchanged values that it inherits, and replace an empty value that overrides an
inherited one with the symbol `empty'."
  (if-let ((branch (plist-get conversation :branch)))
      (mapcan (lambda (key)
                (let* ((own (jumpseat--branch-own branch))
                       (values (if (equal (plist-get changed key) (plist-get conversation key))
                                   (and (plist-member own key) own)
                                 changed))
                       (value (plist-get values key)))
                  (when values
                    (list key (if (and (seq-empty-p value)
                                       (assq key jumpseat-transcript--empty-values))
                                  'empty
                                value)))))
              (list :model :system :daemonTools :settings :conversationId))
    changed))

(defun jumpseat--transcript-render-front-matter (conversation callback &optional format)
  "Render the front matter of CONVERSATION.
Call CALLBACK with an error or nil, and the text with a final line ending.
FORMAT is the format of the chat, by default the format of this buffer."
  (let* ((format (or format (jumpseat--format-here)))
         (empty (seq-filter (lambda (each) (eq 'empty (plist-get conversation (car each))))
                            jumpseat-transcript--empty-values))
         (get (lambda (key) (unless (assq key empty) (plist-get conversation key)))))
    (jumpseat--rpc-request
     "transcript/render"
     (list :messages [] :model (plist-get conversation :model)
           :system (funcall get :system)
           :daemonTools (let ((tools (funcall get :daemonTools)))
                          (unless (seq-empty-p tools) tools))
           :settings (funcall get :settings)
           :conversationId (plist-get conversation :conversationId)
           :format (jumpseat--format-name format))
     (lambda (err result)
       (funcall callback err
                (when result
                  (jumpseat-transcript--add-lines format (mapconcat #'cdr empty "")
                                                  (string-trim (plist-get result :text)))))))))

(defun jumpseat-transcript--add-lines (format lines text)
  "Add LINES to TEXT, front matter in FORMAT, and return it with a line ending."
  (let ((last (jumpseat--format-front-end format)))
    (cond ((string-empty-p lines) (if (string-empty-p text) "" (concat text "\n")))
          ((string-empty-p text) (concat (jumpseat--format-front format) "\n" lines last "\n"))
          (t (concat (string-remove-suffix last text) lines last "\n")))))

(defun jumpseat--transcript-put-front-matter (text &optional branch)
  "Replace the front matter of this buffer, or of BRANCH, with TEXT."
  (save-excursion
    (save-restriction
      (widen)
      (pcase-let ((`(,start . ,end) (jumpseat-transcript--find-front-matter branch)))
        (jumpseat--transcript-replace
         start end
         (cond ((> end start) (jumpseat-transcript--keep-others text start end))
               ((string-empty-p text) text)
               ;; Org does not read a drawer below a blank line.
               (branch (concat (save-excursion (goto-char start) (unless (bolp) "\n")) text))
               (t (concat text "\n"))))))))

(defun jumpseat-transcript--keep-others (text start end)
  "Add the properties of other programs to the front matter TEXT, and return it.
These properties are between START and END of this buffer, because in Org all
programs share one drawer."
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

(defun jumpseat--transcript-drop-empty-question (&optional branch)
  "Remove the heading at the end of this buffer, if nothing follows it.
With BRANCH, remove the heading at the end of the branch.  Headings of other
branches stay.  Return the position after the text before the heading."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (jumpseat--outline-end branch))
      (skip-chars-backward " \t\n")
      (when (save-excursion
              (beginning-of-line)
              (and (looking-at (jumpseat--transcript-heading-regexp))
                   (looking-at (regexp-quote
                                (jumpseat--format-sign-at (jumpseat--format-here)
                                                          (and branch (jumpseat--branch-level branch)))))))
        (delete-region (line-beginning-position) (point))
        (skip-chars-backward " \t\n"))
      (jumpseat--outline-clear (point) branch)
      (point))))

(defvar-local jumpseat-transcript--updating nil
  "Whether the front matter of this buffer is being changed.")
(defvar-local jumpseat-transcript--waiting nil
  "Functions to call, in order, once a change of the front matter is complete.")

(defun jumpseat--transcript-when-settled (function)
  "Call FUNCTION in this buffer, but not while its front matter is being changed.
A change takes two requests.  Questions and other changes must wait for it,
because they start from the changed front matter."
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

(defun jumpseat-transcript--start-update (changes done place)
  "Change the front matter of this buffer, then call DONE.
The arguments CHANGES, DONE and PLACE are as for `jumpseat--transcript-update'."
  (let ((buffer (current-buffer)))
    (setq jumpseat-transcript--updating t)
    (jumpseat--transcript-parse-here
     (lambda (failure conversation)
       (if failure (jumpseat-transcript--settle buffer failure)
         (let ((sent nil))
           (unwind-protect
               (progn
                 (jumpseat--transcript-render-front-matter
                  (jumpseat--transcript-list-own conversation (funcall changes conversation))
                  (lambda (err text)
                    (unwind-protect
                        (when (and (null err) (buffer-live-p buffer))
                          (with-current-buffer buffer
                            (jumpseat--transcript-put-front-matter
                             text (plist-get conversation :branch))
                            (when done (funcall done))))
                      (jumpseat-transcript--settle buffer err))))
                 (setq sent t))
             ;; After an error in CHANGES, the callback above is never called.
             (unless sent (jumpseat-transcript--settle buffer nil))))))
     place)))

(defun jumpseat--transcript-update (changes &optional done place)
  "Change the front matter of this buffer, and leave the rest unchanged.
CHANGES is called with the conversation, and returns the changed conversation.
DONE is called in the buffer after the change.  If PLACE, by default point, is
in a branch, change the properties of the branch.  Errors are shown."
  (let ((place (or place (jumpseat--outline-point))))
    (jumpseat--transcript-when-settled
     (lambda () (jumpseat-transcript--start-update changes done place)))))

(provide 'jumpseat-transcript)
;;; jumpseat-transcript.el ends here
