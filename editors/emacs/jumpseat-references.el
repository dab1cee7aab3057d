;;; jumpseat-references.el --- Expand @references and /prompts  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Expands `@buffer', `@selection', `@diagnostics' and `@file:PATH' in a question
;; to blocks with the text that these references name.  Replaces `/NAME' at the
;; start of a question with that prompt from the daemon's configuration.  The
;; blocks and the prompt's text are also written into the chat, so that the chat
;; is complete and shows what was sent.

;;; Code:

(require 'flymake)
(require 'jumpseat-context)
(require 'jumpseat-region)
(require 'jumpseat-transcript)

(defvar flycheck-current-errors)
(declare-function flycheck-error-line "ext:flycheck")
(declare-function flycheck-error-column "ext:flycheck")
(declare-function flycheck-error-level "ext:flycheck")
(declare-function flycheck-error-message "ext:flycheck")

(defconst jumpseat--references-words '("@buffer" "@selection" "@diagnostics" "@file:")
  "The words that completion offers.")

(defconst jumpseat-references--regexp
  "\\(?:\\`\\|[ \t\n]\\)\\(@file:\"\\([^\"\n]+\\)\"\\|@[^ \t\n]+\\)"
  "Matches words that may be references; group 2 is a quoted path.")

(define-error 'jumpseat--references-missing "No such reference")

(defun jumpseat-references--format-diagnostics ()
  "Return a list of the diagnostics of this buffer, each as a line of text."
  (append
   (mapcar (lambda (each)
             (let ((at (flymake-diagnostic-beg each)))
               (format "%d:%d: %s: %s" (line-number-at-pos at t)
                       (1+ (save-excursion (goto-char at) (- at (line-beginning-position))))
                       (pcase (flymake-diagnostic-type each)
                         ((or :error 'eglot-error) "ERROR")
                         ((or :warning 'eglot-warning) "WARN")
                         (_ "INFO"))
                       (flymake-diagnostic-text each))))
           (and (bound-and-true-p flymake-mode) (flymake-diagnostics)))
   (mapcar (lambda (each)
             (format "%d:%d: %s: %s" (flycheck-error-line each) (or (flycheck-error-column each) 1)
                     (upcase (symbol-name (flycheck-error-level each)))
                     (flycheck-error-message each)))
           (bound-and-true-p flycheck-current-errors))))

(defun jumpseat-references--build-file-block (path)
  "Return the block for the file PATH, relative to the chat's directory."
  (let ((file (expand-file-name path)))
    (unless (and (file-readable-p file) (file-regular-p file))
      (signal 'jumpseat--references-missing (list (format "The file %s cannot be read." path))))
    (jumpseat--context-file-block file)))

(defun jumpseat-references--build-block (word)
  "Return the block for WORD, or signal `jumpseat--references-missing'."
  (if (string-prefix-p "@file:" word)
      (jumpseat-references--build-file-block (string-remove-prefix "@file:" word))
    (let ((source (jumpseat--chat-source)))
      (unless source
        (signal 'jumpseat--references-missing
                (list (format "%s: no file is open beside the chat." word))))
      (with-current-buffer source
        (pcase word
          ("@buffer" (jumpseat--region-block 1 (1+ (buffer-size))))
          ("@diagnostics"
           (list :type "context" :uri (jumpseat--region-uri buffer-file-name) :label "diagnostics"
                 :text (concat (string-join (jumpseat-references--format-diagnostics) "\n") "\n")))
          (_ (jumpseat-references--build-selection-block)))))))

(defun jumpseat-references--build-selection-block ()
  "Return the block of the selection.
Signal `jumpseat--references-missing' if there is none."
  (condition-case refused
      (apply #'jumpseat--region-block
             (or (jumpseat--region-active)
                 (user-error "Nothing is selected in the last buffer")))
    (user-error
     (signal 'jumpseat--references-missing (list (format "@selection: %s." (cadr refused)))))))

(defun jumpseat-references--build-blocks (text)
  "Return the blocks for the references in TEXT.
Signal `jumpseat--references-missing' if one cannot be resolved."
  (let ((start 0) blocks)
    (while (string-match jumpseat-references--regexp text start)
      (setq start (match-end 1))
      (let* ((word (match-string 1 text))
             (quoted (match-string 2 text))
             (path (and (string-prefix-p "@file:" word) (string-remove-prefix "@file:" word))))
        (cond
         (quoted (setq word (concat "@file:" quoted)))
         ((not (and path (file-exists-p path)))
          ;; Punctuation after the reference may belong to the sentence.
          (setq word (replace-regexp-in-string "[.,;:?!)]+\\'" "" word))))
        (when (or (member word (remove "@file:" jumpseat--references-words))
                  (string-match-p "\\`@file:." word))
          (push (jumpseat-references--build-block word) blocks))))
    (nreverse blocks)))

(defun jumpseat-references--same-p (a b)
  "Whether the blocks A and B have the same type, text, data, file and label."
  (seq-every-p (lambda (key) (equal (plist-get a key) (plist-get b key)))
               '(:type :text :source :uri :label)))

(defun jumpseat-references--list-new-context (conversation)
  "Return the blocks of this chat's context that CONVERSATION does not contain."
  (let ((known (seq-mapcat (lambda (message)
                             (let ((content (plist-get message :content)))
                               (unless (stringp content) (jumpseat--list content))))
                           (plist-get conversation :messages))))
    (seq-remove (lambda (block)
                  (seq-some (lambda (each) (jumpseat-references--same-p each block)) known))
                (jumpseat--context-blocks))))

(defun jumpseat-references--insert-blocks (content)
  "Return CONTENT, the blocks of a question, with blocks for its references.
Signal `jumpseat--references-missing' if one cannot be resolved."
  (vconcat
   (seq-mapcat
    (lambda (block)
      (append (when (equal (plist-get block :type) "text")
                (seq-remove
                 ;; A question that is sent again already has its blocks.
                 (lambda (found)
                   (seq-some (lambda (each) (jumpseat-references--same-p each found)) content))
                 (jumpseat-references--build-blocks (plist-get block :text))))
              (list block)))
    content)))

;;; Prompts

(defun jumpseat--references-get-prompt (name input models callback)
  "Request the prompt NAME with INPUT.
Call CALLBACK with an error or nil, and the prompt.  If the prompt takes a diff,
the daemon shortens INPUT to fit the model, and a message names what is left
out.  MODELS is a property list: `:model' overrides the prompt's own model,
which overrides `:defaultModel'."
  (jumpseat--rpc-request
   "prompts/get" (append (list :name name :input input) models)
   (lambda (err prompt)
     (seq-do (lambda (warning) (jumpseat--say "%s" (plist-get warning :message)))
             (plist-get prompt :warnings))
     (funcall callback err prompt))))

(defun jumpseat-references--expand-prompt (content model step callback)
  "Replace the name of a prompt at the start of CONTENT with the prompt's text.
MODEL is the question's model, or nil.  Call CALLBACK with the new content, and
the daemon's response or nil.  STEP makes callbacks of requests; see
`jumpseat-send--make-step'."
  (let* ((index (seq-position content "text"
                              (lambda (block type) (equal (plist-get block :type) type))))
         (block (and index (elt content index)))
         (text (or (plist-get block :text) "")))
    (if (not (string-match "\\`/\\([A-Za-z0-9._-]+\\)\\(?:[ \t\n]+\\|\\'\\)" text))
        (funcall callback content nil)
      (let ((name (match-string 1 text))
            (input (substring text (match-end 0))))
        (jumpseat--references-get-prompt
         name input (list :model model)
         (funcall step
                  (lambda (prompt)
                    (let ((changed (copy-sequence content)))
                      (aset changed index (plist-put (copy-sequence block) :text
                                                     (plist-get prompt :text)))
                      (funcall callback changed prompt)))))))))

(defun jumpseat-references--add-prompt-settings (conversation prompt)
  "Add model, system prompt and settings of PROMPT to CONVERSATION if unset."
  (append
   (list :model (or (plist-get conversation :model) (plist-get prompt :model))
         :system (or (plist-get conversation :system) (plist-get prompt :system))
         ;; If a key occurs twice, the first value is sent.
         :settings (append (plist-get conversation :settings) (plist-get prompt :settings)))
   conversation))

;;; The question

(defun jumpseat--references-expand (conversation section step done)
  "Expand the prompt and the references in the last question of CONVERSATION.
SECTION is a cons of the bounds of the question in this buffer.  Call DONE
with the conversation to send.  STEP makes callbacks of requests; see
`jumpseat-send--make-step'."
  (let* ((place (cons (copy-marker (car section)) (copy-marker (cdr section))))
         (old-content (plist-get (jumpseat--transcript-find-last conversation) :content)))
    (jumpseat-references--expand-prompt
     old-content (plist-get conversation :model) step
     (lambda (prompted prompt)
       (condition-case missing
           (let ((content (vconcat (jumpseat-references--list-new-context conversation)
                                    (jumpseat-references--insert-blocks prompted))))
             (if (equal content old-content) (funcall done conversation)
               (jumpseat-references--put
                (if prompt (jumpseat-references--add-prompt-settings conversation prompt) conversation)
                content place (and prompt conversation) step done)))
         (jumpseat--references-missing
          (funcall (funcall step #'ignore)
                   (jumpseat--make-failure "request" (cadr missing)) nil)))))))

(defun jumpseat-references--put (conversation content place before step done)
  "Make CONTENT the last question of CONVERSATION, and write it at PLACE.
PLACE is a cons of markers in this buffer.  If a prompt was expanded, BEFORE is
the conversation without the prompt's values, and the front matter is written
too; otherwise, BEFORE is nil.  STEP and DONE are as for
`jumpseat--references-expand'."
  (let* ((buffer (current-buffer))
         (messages (copy-sequence (plist-get conversation :messages)))
         (last (1- (length messages)))
         (message (plist-put (copy-sequence (elt messages last)) :content content)))
    (aset messages last message)
    (jumpseat--transcript-render
     message conversation
     (funcall
      step
      (lambda (text)
        (jumpseat--transcript-replace (car place) (cdr place) (concat text "\n"))
        (when before
          (jumpseat--transcript-render-front-matter
           (jumpseat--transcript-list-own before conversation)
           (lambda (failure head)
             (when (and (not failure) (buffer-live-p buffer))
               (with-current-buffer buffer
                 (jumpseat--transcript-put-front-matter head (plist-get conversation :branch)))))))
        (funcall done (append (list :messages messages) conversation)))))))

(provide 'jumpseat-references)
;;; jumpseat-references.el ends here
