;;; jumpseat-variants.el --- Ask again, and keep the earlier answers  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A question can be asked again, even after it was edited.  The earlier
;; question and everything below it are kept as a variant.  Variants are looked
;; up by the messages before the question, so that they are found even after an
;; undo.

;;; Code:

(require 'jumpseat-chat)
(require 'jumpseat-ui)

(defvar-local jumpseat-variants--kept nil
  "An alist of keys and lists of variants, the oldest first.
See `jumpseat-variants--make-key'.")

(defvar-local jumpseat-variants--sent nil "The key of the question that was sent last.")
(defvar-local jumpseat-variants--asked nil
  "An alist of keys and questions, as they were sent.
A question may be edited before it is asked again.")

(defun jumpseat-variants--make-key (conversation index)
  "Return a key for the branch of CONVERSATION and the messages before INDEX."
  (md5 (prin1-to-string
        (cons
         (when-let ((branch (plist-get conversation :branch)))
           (save-excursion
             (goto-char (jumpseat--branch-start branch))
             (buffer-substring-no-properties (point) (line-end-position))))
         (mapcar (lambda (message)
                   ;; Leave out all other keys: the daemon does not always know their values.
                   (mapcar (lambda (block)
                             (mapcar (lambda (key) (plist-get block key))
                                     '(:type :text :thinking :id :name :raw :content :source)))
                           (plist-get message :content)))
                 (seq-take (plist-get conversation :messages) index))))))

(defun jumpseat-variants--list (key)
  "Return the variants that were kept for KEY."
  (cdr (assoc key jumpseat-variants--kept)))

(defun jumpseat-variants--keep (key text)
  "Keep TEXT as a variant for KEY, unless it is already kept.
If TEXT is a kept variant with further turns, replace that variant."
  (let ((kept (jumpseat-variants--list key)))
    (unless (member text kept)
      (let ((shorter (seq-find (lambda (each) (string-prefix-p (concat each "\n") text)) kept)))
        (setf (alist-get key jumpseat-variants--kept nil nil #'equal)
              (if shorter (mapcar (lambda (each) (if (eq each shorter) text each)) kept)
                (append kept (list text))))))))

(defun jumpseat-variants--read (start branch)
  "Return the text from START to the end of BRANCH, or of the chat if that is nil.
Leave out a heading at the end without text below it."
  (string-trim-right
   (replace-regexp-in-string (concat "\\(?:" (jumpseat--transcript-heading-regexp) "\\)[ \t\n]*\\'") ""
                             (buffer-substring-no-properties start (jumpseat--outline-end branch)))))

(defun jumpseat-variants--show-label (start number count)
  "Label the question at START as variant NUMBER of COUNT, if there are several."
  (remove-overlays start (save-excursion (goto-char start) (line-end-position))
                   'jumpseat-kind 'heading)
  (when (> count 1)
    (jumpseat--view-show-label start (format "variant %d of %d" number count))))

;;; The question at point

(defun jumpseat-variants--find-turn (conversation line)
  "Return the turn of CONVERSATION with the question at LINE.
This is the last question of its branch that starts at or before LINE, or else
the first one."
  (let* ((branch (plist-get conversation :branch))
         (first (if branch (plist-get (jumpseat--branch-own branch) :startLine) 0))
         (questions (seq-filter (lambda (turn) (and (equal "user" (plist-get turn :role))
                                                    (plist-get turn :message)
                                                    (<= first (plist-get turn :startLine))))
                                (plist-get conversation :turns))))
    (or (car (last (seq-filter (lambda (turn) (<= (plist-get turn :startLine) line)) questions)))
        (car questions))))

(defun jumpseat-variants--call-with-question (function)
  "Call FUNCTION with the bounds, the key and the branch of the question at point.
The branch is nil outside of branches.  The question is the last one that starts
at or before point, or else the first one.  If the text changes before the
daemon has parsed it, do nothing."
  (unless jumpseat-chat-mode (user-error "This is not a chat"))
  (barf-if-buffer-read-only)
  (when (jumpseat--send-running-p)
    (user-error "An answer is being written; %s stops it"
                (substitute-command-keys "\\[jumpseat-stop]")))
  (let ((buffer (current-buffer))
        (line (jumpseat--outline-line (point)))
        (tick (buffer-chars-modified-tick)))
    (jumpseat--transcript-parse-here
     (jumpseat--make-callback
      (lambda (conversation)
        (when (and (buffer-live-p buffer) (eql tick (buffer-chars-modified-tick buffer)))
          (with-current-buffer buffer
            (save-restriction
              (widen)
              (if-let ((turn (jumpseat-variants--find-turn conversation line)))
                  (funcall function
                           (jumpseat--outline-find-line (plist-get turn :startLine))
                           (jumpseat--outline-find-line (plist-get turn :endLine))
                           (jumpseat-variants--make-key conversation (plist-get turn :message))
                           (plist-get conversation :branch))
                (jumpseat--say "There is no question in this chat."))))))))))

(defun jumpseat-variants--record (question conversation)
  "Remember the text of the question at QUESTION, the last one of CONVERSATION."
  (save-restriction
    (widen)
    (let ((key (jumpseat-variants--make-key conversation
                                            (1- (length (plist-get conversation :messages))))))
      (setq jumpseat-variants--sent key)
      (setf (alist-get key jumpseat-variants--asked nil nil #'equal)
            (jumpseat-variants--read question jumpseat--send-branch)))))

(add-hook 'jumpseat--turn-sent-functions #'jumpseat-variants--record)

;;; Commands

(defun jumpseat-variants--ask-again (start end key branch)
  "Ask the question from START to END again, and keep what follows as a variant.
KEY is its key, and BRANCH its branch or nil."
  (let* ((rest (string-trim (jumpseat-variants--read end branch)))
         (question (or (cdr (assoc key jumpseat-variants--asked))
                       (string-trim-right (buffer-substring-no-properties start end)))))
    (unless (string-empty-p rest)
      (jumpseat-variants--keep key (concat question "\n\n" rest)))
    (undo-boundary)
    (jumpseat--outline-clear end branch)
    ;; A branch must contain the heading of a question or an answer.
    (when branch
      (goto-char start)
      (unless (looking-at-p (jumpseat--transcript-heading-regexp))
        (insert (jumpseat--transcript-question nil (jumpseat--branch-level branch)) "\n\n")))
    (undo-boundary)
    (jumpseat--outline-goto-end branch)
    (jumpseat--send-start)))

(defun jumpseat-retry ()
  "Ask the question at or before point again, or else the first question.
The question may have been edited.  What followed it is removed and kept as a
variant, which \\[jumpseat-previous-variant] brings back."
  (interactive)
  (jumpseat-variants--call-with-question #'jumpseat-variants--ask-again))

(defun jumpseat-variants--call-with-variants (function)
  "Call FUNCTION with four arguments about the variants of the question at point.
These are the start of the question, its variants, the number (from 0) of the
variant that is in the chat, and the branch or nil."
  (jumpseat-variants--call-with-question
   (lambda (start _end key branch)
     (let ((now (jumpseat-variants--read start branch)))
       (if (null (remove now (jumpseat-variants--list key)))
           (jumpseat--say "This question has no other variant; %s asks it again."
                          (substitute-command-keys "\\[jumpseat-retry]"))
         (jumpseat-variants--keep key now)
         (let ((kept (jumpseat-variants--list key)))
           (funcall function start kept (seq-position kept now) branch)))))))

(defun jumpseat-next-variant (&optional count)
  "Show the next variant of the question at point, or the COUNTth after it."
  (interactive "p")
  (jumpseat-variants--call-with-variants
   (lambda (start kept number branch)
     (let ((next (mod (+ number (or count 1)) (length kept)))
           (heading (save-excursion
                      (goto-char start)
                      (if (looking-at (jumpseat--transcript-heading-regexp))
                          (match-string-no-properties 0)
                        (jumpseat--transcript-question
                         nil (and branch (jumpseat--branch-level branch)))))))
       (undo-boundary)
       (jumpseat--outline-clear start branch)
       (insert (nth next kept) "\n\n" heading "\n\n")
       (undo-boundary)
       (goto-char start)
       (jumpseat--chat-fold)
       (jumpseat-variants--show-label start (1+ next) (length kept))))))

(defun jumpseat-previous-variant (&optional count)
  "Show the previous variant of the question at point, or the COUNTth before it."
  (interactive "p")
  (jumpseat-next-variant (- (or count 1))))

(defun jumpseat-variants--make-buffer (text number format)
  "Return a buffer for variant NUMBER, from 0, with its TEXT in FORMAT."
  (with-current-buffer (get-buffer-create (format "*jumpseat variant %d*" (1+ number)))
    (let ((inhibit-read-only t))
      (erase-buffer)
      (insert text "\n")
      (jumpseat--chat-text-mode format)
      (setq buffer-read-only t))
    (current-buffer)))

(defun jumpseat-ediff-variants ()
  "Compare the shown variant of the question at point with another variant."
  (interactive)
  (jumpseat-variants--call-with-variants
   (lambda (_start kept number _branch)
     (let* ((format (jumpseat--format-here))
            (compare (lambda (other)
                       (ediff-buffers
                        (jumpseat-variants--make-buffer (nth other kept) other format)
                        (jumpseat-variants--make-buffer (nth number kept) number format))))
            (others (remq number (number-sequence 0 (1- (length kept))))))
       (if (null (cdr others))
           (jumpseat--ui-call-when-free compare (car others))
         (jumpseat--ui-choose
          "Compare with"
          (mapcar (lambda (each) (list (format "variant %d" (1+ each)) each
                                       (car (last (split-string (nth each kept) "\n")))))
                  others)
          'jumpseat-variant compare))))))

(defun jumpseat-variants--label-last (err _reason)
  "Show the number of the last question's variant after a turn without ERR."
  (when-let ((start (and (null err) jumpseat--send-question)))
    (when (marker-position start)
      (save-restriction
        (widen)
        (let ((count (1+ (length (remove (jumpseat-variants--read start jumpseat--send-branch)
                                         (jumpseat-variants--list jumpseat-variants--sent))))))
          (jumpseat-variants--show-label (marker-position start) count count))))))

(add-hook 'jumpseat--turn-ended-functions #'jumpseat-variants--label-last)

(provide 'jumpseat-variants)
;;; jumpseat-variants.el ends here
